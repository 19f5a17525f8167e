import Compression
import Encodings
import HTTPServing
import LosslessJSON
import Testing

@testable import EmbeddedGateway

@Suite struct MultipartTests {
    private static let long = String(repeating: "long ", count: 100)

    private func parts(_ answer: Collected) throws -> [MultipartSplitter.Part] {
        try parts(answer.bytes, #require(answer.field("Content-Type")))
    }

    private func parts(_ body: [UInt8], _ type: String) throws -> [MultipartSplitter.Part] {
        var reader = try MultipartSplitter(body, contentType: type)
        var parts: [MultipartSplitter.Part] = []
        while let part = try reader.next() { parts.append(part) }
        return parts
    }

    private func gateway() async throws -> TestGateway {
        let gateway = try TestGateway()
        let data = Base64.text(Array(Self.long.utf8))
        let body = #"""
            {"v":1,"_attachments":{"big \"1\"":{"content_type":"text/plain","data":"\#(data)"},"small":{"data":"eHl6"}}}
            """#
        #expect(try await gateway.put("a", body).status == 201)
        return gateway
    }

    @Test func largerContentsFollowTheDocument() async throws {
        let answer = try await gateway().answer("GET", "/open/a?attachments=true", fields: [])
        #expect(answer.field("Content-Type")?.hasPrefix("multipart/related; boundary=") == true)
        let parts = try parts(answer)
        #expect(parts.count == 2)
        let document = try JSONText(Array(parts[0].content)).root
        let entries = try #require(document["_attachments"])
        #expect(entries["small"]?["data"]?.string == "eHl6")
        #expect(entries["big \"1\""]?["follows"]?.bool == true)
        #expect(entries["big \"1\""]?["data"] == nil && entries["big \"1\""]?["stub"] == nil)
        #expect(String(decoding: parts[1].content, as: UTF8.self) == Self.long)
        #expect(
            parts[1].fields == [
                HTTPField("Content-Disposition", #"attachment; filename="big \"1\"""#),
                HTTPField("Content-Type", "text/plain"),
            ])
    }

    @Test func contentsThatTheClientHasStayStubs() async throws {
        let gateway = try await gateway()
        let first = try #require(try await gateway.answer("GET", "/open/a").field("Etag")?.filter { $0 != "\"" })
        let body = #"{"_attachments":{"small":{"stub":true},"new":{"data":"eHl6"}}}"#
        #expect(try await gateway.put("a?rev=\(first)", body).status == 201)
        let json = [HTTPField("Accept", "application/json")]
        let target = "/open/a?attachments=true&atts_since=%5B%22\(first)%22%5D"
        let document = try JSONText(try await gateway.answer("GET", target, fields: json).bytes).root
        #expect(document["_attachments"]?["small"]?["stub"]?.bool == true)
        #expect(document["_attachments"]?["new"]?["data"]?.string == "eHl6")
    }

    @Test func manyDocumentsAreSentInOneAnswer() async throws {
        let gateway = try await gateway()
        let body = #"{"docs":[{"id":"a"},{"id":"b"},{"id":"_x"},{"id":"a","rev":7},{"id":"a","rev":"1-x"}]}"#
        let answer = try await gateway.answer("POST", "/open/_bulk_get?attachments=true&revs=true", body)
        let parts = try parts(answer)
        #expect(parts.count == 5)
        let inner = try #require(parts[0].fields.first { $0.name == "Content-Type" }?.value)
        #expect(inner.hasPrefix("multipart/related") && parts[0].fields.contains(HTTPField("X-Doc-Id", "a")))
        #expect(try self.parts(Array(parts[0].content), inner).count == 2)
        let statuses = try parts.dropFirst().map { try JSONText(Array($0.content)).root["status"]?.integer }
        #expect(statuses == [404, 400, 400, 404])
        for part in parts.dropFirst() {
            #expect(part.fields == [HTTPField("Content-Type", "application/json; error=\"true\"")])
        }
    }

    private static func upload(_ entries: String, _ parts: [String], end: String = "--xyz--") -> String {
        let document = "Content-Type: application/json\r\n\r\n{\"v\":1,\"_attachments\":{\(entries)}}"
        return ([document] + parts).map { "--xyz\r\n\($0)\r\n" }.joined() + end
    }

    private static let one = #""f":{"follows":true,"length":5,"digest":"sha1-jLIjfQZ5yojbZGTqxg2pY0VROWQ="}"#

    @Test(arguments: [
        (upload(one, ["\r\n12345"]), 201, #""ok":true"#),
        (upload(one, ["Content-Type: text/plain\n\n12345"]), 201, #""ok":true"#),
        (
            upload(
                one.replacing("sha1-jLIjfQZ5yojbZGTqxg2pY0VROWQ=", with: "md5-gnzLDuqKcGxMNKFokfhOew=="), ["\r\n12345"]),
            201, "ok"
        ),
        (upload(one, []), 400, "Too few MIME parts: expected 1 attachments, got 0"),
        (upload(one, ["\r\n12346"]), 400, "MIME part #2 doesn't match any attachment"),
        (upload(one, ["\r\n12345", "\r\n12345"]), 400, "Too many MIME parts (expected 2)"),
        (
            upload(one.replacing(":5", with: ":6"), ["\r\n12345"]), 400,
            #"Attachment length mismatch for \"f\": read 5 bytes, should be 6"#
        ),
        (upload(one, ["\r\n12345"], end: ""), 500, "Internal error: multipart"), ("", 500, "Internal error: multipart"),
        ("--xyz", 500, "Internal error"), ("--xyz--", 500, "Internal error"),
        ("--xyz\r\n\r\n\r\n--xyz--", 400, "Bad JSON: EOF"),
    ])
    func attachmentsMayFollowTheDocument(body: String, status: Int, text: String) async throws {
        let type = [HTTPField("Content-Type", "multipart/related; boundary=\"xyz\"")]
        let gateway = try TestGateway()
        let answer = try await gateway.answer("PUT", "/open/a", body, fields: type)
        #expect(answer.status == status)
        #expect(answer.text.contains(text))
        if status == 201 { #expect(try await gateway.answer("GET", "/open/a/f").text == "12345") }
    }

    @Test(arguments: ["multipart/related", "multipart/related; boundary=", "multipart/related; x; boundary=\"\""])
    func boundaryIsRequired(type: String) async throws {
        let answer = try await TestGateway().answer(
            "PUT", "/open/a", "--\r\n", fields: [HTTPField("Content-Type", type)])
        #expect(answer.status == 500)
    }

    @Test func partsAreDecompressed() async throws {
        let json = #"{"_attachments":{"f":{"follows":true,"digest":"sha1-jLIjfQZ5yojbZGTqxg2pY0VROWQ="}},"v":1}"#
        for (text, status) in [
            (Gzip.compress(Array(json.utf8)), 201), (Array(json.utf8), 500), (Gzip.compress(Array("{".utf8)), 400),
        ] {
            let head = "--x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n"
            let body = Array(head.utf8) + text + Array("\r\n--x\r\n\r\n12345\r\n--x--".utf8)
            let type = HTTPField("Content-Type", "multipart/related; boundary=x")
            let answer = await (try TestGateway()).router.answer(
                Request("PUT", "/open/a", fields: [type], body: body))
            #expect(answer.status == status)
        }
    }

    @Test func longPartsAreCompressedForClientsThatAcceptGzip() async throws {
        let gateway = try TestGateway()
        try await gateway.put("short", #"{"v":1}"#)
        try await gateway.put("long", "{\"v\":\"\(Self.long)\"}")
        let fields = [HTTPField.json, HTTPField("X-Accept-Part-Encoding", "gzip")]
        let body = #"{"docs":[{"id":"short"},{"id":"long"}]}"#
        let parts = try parts(await gateway.answer("POST", "/open/_bulk_get", body, fields: fields))
        #expect(parts.map { $0.fields.contains(HTTPField("Content-Encoding", "gzip")) } == [false, true])
        let text = try Gzip.decompress(Array(parts[1].content), limit: 10_000)
        #expect(String(decoding: text, as: UTF8.self).contains(Self.long))
    }

    @Test func executableTypesAreSentAsDownloads() async throws {
        let gateway = try TestGateway()
        try await gateway.put("a", #"{"_attachments":{"h":{"content_type":"text/html","data":""},"n":{"data":""}}}"#)
        for name in ["h", "n"] {
            #expect(try await gateway.answer("GET", "/open/a/\(name)").field("Content-Disposition") == "attachment")
        }
    }
}
