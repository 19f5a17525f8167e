import Locking
import TestKit
import Testing

@testable import GatewayClient

@Suite(.limitedParallelism) struct AttachmentUploadTests {
    private struct SourceError: Error {}

    private func source(_ parts: [String], count: Int? = nil) -> ByteSource {
        let rest = Monitor(parts.map { Array($0.utf8) })
        return ByteSource(count: count ?? parts.reduce(0) { $0 + $1.utf8.count }) {
            rest.with { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    private func upload(_ name: String, _ parts: [String], count: Int? = nil, digest: String? = "sha1-x=")
        -> AttachmentUpload
    {
        AttachmentUpload(
            name: name, contentType: "text/plain", digest: digest.flatMap { AttachmentDigest($0) },
            source: source(parts, count: count))
    }

    private static let written = #"{"id":"t1","ok":true,"rev":"2-b"}"#

    @Test func attachmentIsSentInPieces() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.method == "PUT" && request.target == "/todo/t1/my%20image.png?rev=1-a")
            #expect(request.values(of: "content-type") == ["image/png"])
            #expect(request.values(of: "content-length") == ["9"] && request.text == "one,two,3")
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        let revision = try await scripted.gateway.putAttachment(
            "my image.png", of: "t1", revision: RevisionID("1-a"), contentType: "image/png",
            source: source(["one,", "two", ",3"]))
        #expect(revision.text == "2-b")
    }

    /// The body that Sync Gateway 4.1.1 was observed to accept.
    @Test func documentAndAttachmentsAreOneBody() async throws {
        var settings = GatewaySettings()
        settings.dialect = .syncGateway
        let scripted = try ScriptedGateway(settings: settings) { connection, request in
            #expect(request.method == "PUT" && request.target == "/todo/t1")
            let type = try #require(request.values(of: "content-type").first)
            let boundary = try #require(type.split(separator: "\"").last)
            #expect(type == "multipart/related; boundary=\"\(boundary)\"" && boundary.count > 10)
            let document =
                #"{"v":1.10,"_rev":"1-a","_attachments":{"old":{"stub":true,"revpos":1},"#
                + #""f.txt":{"follows":true,"content_type":"text/plain","length":5,"digest":"sha1-x="},"#
                + #""a\"b":{"follows":true,"content_type":"text/plain","length":0,"digest":"sha1-x="}}}"#
            let lines = [
                "--\(boundary)", "Content-Type: application/json", "", document, "--\(boundary)",
                #"Content-Disposition: attachment; filename="f.txt""#, "Content-Type: text/plain", "", "12345",
                "--\(boundary)", #"Content-Disposition: attachment; filename="a\"b""#, "Content-Type: text/plain", "",
                "",
                "--\(boundary)--",
            ]
            #expect(request.text == lines.joined(separator: "\r\n"))
            try connection.answer(201, headers: syncGateway, body: Self.written)
        }
        let body =
            #"{"_attachments":{"old":{"stub":true,"revpos":1},"f.txt":{"stub":true}},"v":1.10,"_rev":"1-a"}"#
        let revision = try await scripted.gateway.put(
            "t1", body: Array(body.utf8), attachments: [upload("f.txt", ["1", "234", "5"]), upload(#"a"b"#, [])])
        #expect(revision.text == "2-b")
    }

    @Test(arguments: [("md5-y==", true), ("sha1-x=", false), (nil, false)])
    func couchDBGetsOnlyMD5Digests(digest: String?, isSent: Bool) async throws {
        let scripted = try ScriptedGateway { connection, request in
            guard request.method == "PUT" else { return try connection.answer(headers: couchDB, body: Self.greeting) }
            #expect(request.text.contains("md5-y==") == isSent && !request.text.contains("sha1"))
            try connection.answer(201, headers: couchDB, body: Self.written)
        }
        try await scripted.gateway.put("t1", body: Array("{}".utf8), attachments: [upload("f", ["1"], digest: digest)])
    }

    private static let greeting =
        #"{"couchdb":"Welcome","version":"3.5.0","vendor":{"name":"The Apache Software Foundation"}}"#

    @Test func invalidUploadsAreNotSent() async throws {
        var settings = GatewaySettings()
        settings.dialect = .syncGateway
        let scripted = try ScriptedGateway(settings: settings) { _, _ in Issue.record("a request was sent") }
        let cases: [(String, [AttachmentUpload])] = [
            ("[]", [upload("f", ["1"])]), ("{}", [upload("f", ["1"]), upload("f", ["2"])]),
            ("{}", [upload("f", ["1"], digest: nil)]), ("{}", [upload("f", ["1"], digest: "md5-y==")]),
            ("{}", [upload("f\r\nX: y", ["1"])]), ("{}", [upload("f", [], count: .max), upload("g", [], count: .max)]),
            ("{}", [upload("f", [], count: -1)]),
        ]
        for (body, uploads) in cases {
            let error = await #expect(throws: GatewayError.self) {
                try await scripted.gateway.put("t1", body: Array(body.utf8), attachments: uploads)
            }
            #expect(error?.code == .invalidRequest)
        }
    }

    /// The parts are consecutive: excess bytes of one part would become part of the next one.
    @Test(arguments: [(["1", "23"], ["4"], 2, 2), (["1"], ["2", "3"], 2, 1), (["1"], ["2"], 1, 2), (["1"], [], 1, 1)])
    func attachmentsWithWrongLengthAreNotWritten(
        first: [String], second: [String], firstCount: Int, secondCount: Int
    ) async throws {
        var settings = GatewaySettings()
        settings.dialect = .syncGateway
        let scripted = try ScriptedGateway(settings: settings) { _, request in
            Issue.record("a whole request: \(request.text)")
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.put(
                "t1", body: Array("{}".utf8),
                attachments: [upload("f", first, count: firstCount), upload("g", second, count: secondCount)])
        }
        #expect(error?.code == .sourceFailed && error?.isRetryable == false)
    }

    @Test func failingSourceEndsRequest() async throws {
        let scripted = try ScriptedGateway { _, _ in Issue.record("a whole request") }
        let source = ByteSource(count: 10) { throw SourceError() }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.putAttachment("x", of: "a", revision: nil, contentType: "a/b", source: source)
        }
        #expect(error?.code == .sourceFailed)
    }

    @Test func refusalsAreTyped() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(
                409, headers: syncGateway,
                body: #"{"error":"conflict","reason":"Cannot modify attachments without a specific rev ID"}"#)
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.putAttachment(
                "x", of: "a", revision: nil, contentType: "a/b", source: source(["1"]))
        }
        #expect(error?.cause == .attachmentConflict)
    }

    /// The bytes can be read only once, so they can't be sent again with a new session.
    @Test func uploadIsNotRepeated() async throws {
        var settings = GatewaySettings()
        let asked = EventCounter()
        settings.credentialsSource = {
            asked.increment()
            return .bearer(token: "t\(asked.count)")
        }
        let requests = EventCounter()
        let scripted = try ScriptedGateway(settings: settings) { connection, _ in
            requests.increment()
            try connection.answer(
                401, headers: syncGateway, body: #"{"error":"Unauthorized","reason":"Invalid login"}"#)
        }
        let error = await #expect(throws: GatewayError.self) {
            try await scripted.gateway.putAttachment(
                "x", of: "a", revision: nil, contentType: "a/b", source: source(["1"]))
        }
        #expect(error?.code == .unauthorized)
        #expect(requests.count == 1)
    }

    @Test(arguments: [
        (GatewayDialect.syncGateway, "sha1-jLIjfQZ5yojbZGTqxg2pY0VROWQ="), (.couchDB, "md5-gnzLDuqKcGxMNKFokfhOew=="),
    ])
    func digestsAreComputedInPieces(dialect: GatewayDialect, digest: String) {
        var calculation = AttachmentDigest.Calculation(for: dialect)
        for piece in ["1", "", "234", "5"] { calculation.update(Array(piece.utf8)) }
        #expect(calculation.digest().description == digest)
        #expect(calculation.digest() == AttachmentDigest(digest))
    }
}
