import Compression
import Encodings
import GRDB
import HTTPServing
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

/// Answers with long attachments. Serialized, because together they would use hundreds of megabytes.
@Suite(.serialized, .limitedParallelism) struct LongContentTests {
    private static let pieceLimit = 1 << 20
    private static let contentLimit = 768 << 10
    private static let json = [HTTPField("Accept", "application/json")]

    /// The longest content. Created once, because a debug build is slow.
    private static let longest = (0..<3_000_002).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }

    private static func content(_ length: Int) -> [UInt8] {
        precondition(length <= longest.count)
        return Array(longest.prefix(length))
    }

    private func gateway(_ lengths: [Int], body: String = #""v":1"#) async throws -> (TestGateway, String) {
        let gateway = try TestGateway()
        let entries = lengths.enumerated().map { number, length in
            #""x\#(number)":{"data":"\#(Base64.text(Self.content(length)))"}"#
        }
        let answer = try await gateway.put("a", "{\"_attachments\":{\(entries.joined(separator: ","))},\(body)}")
        return (gateway, try #require(JSONText(answer.bytes).root["rev"]?.string))
    }

    /// Checks that the answer is sent in pieces, and has the length stated in its head.
    private func pieces(_ gateway: TestGateway, _ request: Request) async throws -> (type: String, bytes: [UInt8]) {
        let answer = await gateway.router.answer(request)
        let type = try #require(answer.fields.first { $0.name == "Content-Type" }?.value)
        guard case .streamed(let make) = answer.body else {
            Issue.record("\(request.target) is sent whole")
            return (type, [])
        }
        let pieces = try await Pieces(make)
        #expect(pieces.lengths.allSatisfy { $0 <= Self.pieceLimit })
        if request.method == "GET" { #expect(answer.length == pieces.bytes.count) }
        #expect(answer.kept.count == 0)
        return (type, pieces.bytes)
    }

    private func parts(_ body: [UInt8], _ type: String) throws -> [MultipartSplitter.Part] {
        var reader = try MultipartSplitter(body, contentType: type)
        var parts: [MultipartSplitter.Part] = []
        while let part = try reader.next() { parts.append(part) }
        return parts
    }

    private func stub(_ number: Int, _ length: Int, _ member: String) -> String {
        let content = Self.content(length)
        let digest = Digest.sha1.attachmentName(content)
        return member.hasPrefix("\"data")
            ? #""x\#(number)":{\#(member),"digest":"\#(digest)","length":\#(length),"revpos":1}"#
            : #""x\#(number)":{"digest":"\#(digest)",\#(member),"length":\#(length),"revpos":1}"#
    }

    private func document(_ lengths: [Int], _ revision: String, _ version: String) -> String {
        let entries = lengths.enumerated().map { number, length in
            stub(number, length, #""data":"\#(Base64.text(Self.content(length)))""#)
        }
        return #"{"_attachments":{\#(entries.joined(separator: ","))},"#
            + #""_cv":"\#(version)","_id":"a","_rev":"\#(revision)","v":1}"#
    }

    private static let lengths = [
        [3_000_000], [3_000_001], [3_000_002], [contentLimit], [contentLimit + 1], [contentLimit * 2],
        [contentLimit * 2 - 1], [10, 2_000_000, 0, 200, 201, 1_000_000], [contentLimit, contentLimit],
    ]

    @Test(arguments: lengths) func longContentsInADocumentAreSentInPieces(lengths: [Int]) async throws {
        let (gateway, revision) = try await gateway(lengths)
        let target = "/open/a?attachments=true"
        let stubs = try JSONText(try await gateway.answer("GET", "/open/a").bytes).root
        let version = try #require(stubs["_cv"]?.string)
        let (type, bytes) = try await pieces(gateway, Request("GET", target, fields: Self.json))
        #expect(type == "application/json")
        #expect(bytes == Array(document(lengths, revision, version).utf8))
    }

    @Test(arguments: [786_000, 700_000, 300_000]) func shortAnswersAreSentWhole(length: Int) async throws {
        let (gateway, revision) = try await gateway([length])
        let answer = await gateway.router.answer(Request("GET", "/open/a?attachments=true", fields: Self.json))
        guard case .whole(let bytes) = answer.body else {
            Issue.record("\(answer.body)")
            return
        }
        let version = try #require(try JSONText(bytes).root["_cv"]?.string)
        #expect(bytes == Array(document([length], revision, version).utf8))
    }

    @Test(arguments: lengths) func longContentsAfterADocumentAreSentInPieces(lengths: [Int]) async throws {
        guard lengths.reduce(0, +) > Self.pieceLimit else { return }
        let (gateway, _) = try await gateway(lengths)
        let (type, bytes) = try await pieces(gateway, Request("GET", "/open/a?attachments=true"))
        let parts = try parts(bytes, type)
        try check(parts, lengths)
    }

    /// The larger contents follow the document, the others are inside it.
    private func check(_ parts: [MultipartSplitter.Part], _ lengths: [Int]) throws {
        let entries = try #require(try JSONText(Array(parts[0].content)).root["_attachments"])
        var following = parts.dropFirst()
        for (number, length) in lengths.enumerated() {
            let entry = try #require(entries["x\(number)"])
            if length > 200 {
                #expect(entry["follows"]?.bool == true)
                let part = following.popFirst()
                #expect(part.map { Array($0.content) } == Self.content(length))
            } else {
                #expect(entry["data"]?.string == Base64.text(Self.content(length)))
            }
        }
        #expect(following.isEmpty)
    }

    @Test(arguments: [true, false]) func manyDocumentsAreSentInPieces(compressesParts: Bool) async throws {
        let lengths = [2_000_001, 100, 1_000_000]
        let (gateway, _) = try await gateway(lengths)
        let fields = [HTTPField.json] + (compressesParts ? [HTTPField("X-Accept-Part-Encoding", "gzip")] : [])
        let body = #"{"docs":[{"id":"a"},{"id":"none"},{"id":"a"}]}"#
        let target = "/open/_bulk_get?attachments=true"
        let request = Request("POST", target, fields: fields, body: Array(body.utf8))
        let (type, bytes) = try await pieces(gateway, request)
        let parts = try parts(bytes, type)
        #expect(parts.count == 3)
        for part in [parts[0], parts[2]] {
            let inner = try #require(part.fields.first { $0.name == "Content-Type" }?.value)
            #expect(Array(part.content.suffix(2)) == Array("--".utf8))
            var documents = try self.parts(Array(part.content), inner)
            let isCompressed = documents[0].fields.contains(HTTPField("Content-Encoding", "gzip"))
            #expect(isCompressed == compressesParts)
            if isCompressed {
                let text = try Gzip.decompress(Array(documents[0].content), limit: 10_000)
                documents[0] = MultipartSplitter.Part(fields: [], content: text[...])
            }
            try check(documents, lengths)
        }
    }

    @Test func requestedRevisionsAreSentInPieces() async throws {
        let lengths = [2_000_000, 3]
        let (gateway, revision) = try await gateway(lengths)
        let names = "%5B%22\(revision)%22,%221-x%22,%22\(revision)%22%5D"
        let target = "/open/a?open_revs=\(names)"
        let (listType, list) = try await pieces(gateway, Request("GET", target, fields: Self.json))
        let stubs = try JSONText(try await gateway.answer("GET", "/open/a").bytes).root
        let document = document(lengths, revision, try #require(stubs["_cv"]?.string))
        #expect(listType == "application/json")
        #expect(
            list == Array("[\n{\"ok\":\(document)}\n,{\"missing\":\"1-x\"}\n,{\"ok\":\(document)}\n]".utf8))
        let (type, bytes) = try await pieces(gateway, Request("GET", target))
        let parts = try parts(bytes, type)
        #expect(parts.count == 3)
        let inner = try #require(parts[2].fields.first { $0.name == "Content-Type" }?.value)
        try check(self.parts(Array(parts[2].content), inner), lengths)
    }

    @Test func revisionsWithLongBodiesAreGeneratedOneByOne() async throws {
        let gateway = try TestGateway()
        let filling = String(repeating: "x", count: 700_000)
        let written = try await gateway.put("a", "{\"v\":\"\(filling)\"}")
        let revision = try #require(JSONText(written.bytes).root["rev"]?.string)
        let names = "%5B" + [String](repeating: "%22\(revision)%22", count: 4).joined(separator: ",") + "%5D"
        let (_, list) = try await pieces(gateway, Request("GET", "/open/a?open_revs=\(names)", fields: Self.json))
        let found = Array(try JSONText(list).root.elements)
        #expect(found.count == 4)
        #expect(found.allSatisfy { $0["ok"]?["v"]?.string == filling })
    }

    @Test func longBodyCountsAgainstTheLimitWhileItWaits() async throws {
        let filling = String(repeating: "x", count: 500_000)
        let (gateway, _) = try await gateway([1_600_000], body: "\"v\":\"\(filling)\"")
        let answer = await gateway.router.answer(Request("GET", "/open/a?attachments=true", fields: Self.json))
        guard case .streamed(let make) = answer.body else {
            Issue.record("\(answer.body)")
            return
        }
        let (counts, continuation) = AsyncStream<Int>.makeStream()
        try await make { [kept = answer.kept] _ in continuation.yield(kept.count) }
        continuation.finish()
        let kept = await counts.reduce(into: []) { $0.append($1) }
        #expect(kept.first ?? 0 > filling.count)
        #expect(kept.last == 0)
    }

    /// A compressed answer has a different length.
    @Test func longCompressedContentHasNoLength() async throws {
        let (gateway, revision) = try await gateway([2_000_000])
        let fields = Self.json + [HTTPField("Accept-Encoding", "gzip")]
        let answer = await gateway.router.answer(Request("GET", "/open/a?attachments=true", fields: fields))
        #expect(answer.length == nil)
        let plain = try Gzip.decompress(try await Collected(answer).bytes, limit: 1 << 22)
        #expect(try JSONText(plain).root["_rev"]?.string == revision)
    }

    @Test func removedContentCutsTheAnswer() async throws {
        let (gateway, _) = try await gateway([2_000_000])
        let answer = await gateway.router.answer(Request("GET", "/open/a?attachments=true", fields: Self.json))
        try await gateway.store.database.write { db in try db.execute(sql: "DELETE FROM attachments") }
        await #expect(throws: ConnectionCut.self) { try await Collected(answer) }
    }

    @Test func headStatesTheLength() async throws {
        let (gateway, _) = try await gateway([2_000_000])
        let router = gateway.router
        let server = try await HTTPServer.startForTest { await router.answer($0) }
        try await RawConnection.with(port: server.port) { connection in
            let head = "Host: x\r\nAccept: application/json\r\n\r\n"
            try await connection.send("HEAD /open/a?attachments=true HTTP/1.1\r\n" + head)
            let announced = try await connection.read(through: "\r\n\r\n")
            try await connection.send("GET /open/a?attachments=true HTTP/1.1\r\n" + head)
            let answer = try await connection.readAnswer()
            #expect(answer.body.hasSuffix(#","v":1}"#))
            #expect(announced.contains("\r\nContent-Length: \(answer.body.utf8.count)\r\n"))
            #expect(!answer.head.contains("Transfer-Encoding"))
        }
        await server.stop()
    }
}
