import DocumentFlow
import GatewayClient
import Locking
import Logging
import LosslessJSON
import TestKit
import Testing

@testable import Revisions

/// Attachments of leaves that CouchDB compressed at different levels.
@Suite(.limitedParallelism) struct EqualAttachmentsTests {
    private func leaf(_ revision: String, _ digest: String, type: String = "text/plain") throws -> (
        revision: RevisionID, document: JSONValue
    ) {
        let stub = #"{"content_type":"\#(type)","digest":"\#(digest)","length":9,"stub":true}"#
        return (RevisionID(revision), try JSONText(#"{"_id":"d","_attachments":{"x":\#(stub)}}"#).root)
    }

    /// - Parameter bodies: The server's content by revision; nil: no such revision.
    private func equalDigests(
        _ leaves: [(revision: RevisionID, document: JSONValue)], _ bodies: [String: String]
    ) async throws -> (equal: [String: String], requests: Int) {
        let requests = Locked(0)
        let server = try TestServer { connection in
            try connection.serve { request in
                requests.withLock { $0 += 1 }
                let revision = String(request.target.drop { $0 != "=" }.dropFirst())
                guard let body = bodies[revision] else {
                    return try connection.answer(404, body: #"{"error":"not_found","reason":"missing"}"#)
                }
                try connection.answer(headers: ["Content-Type: text/plain"], body: body)
            }
        }
        defer { server.stop() }
        let logger = Logger(label: "", factory: { _ in SwiftLogNoOpLogHandler() })
        let gateway = Gateway(try GatewayURL(server.url("/db")))
        let equal = try await EqualAttachments(
            gateway: gateway, contact: GatewayContact(settings: .init(), logger: logger), logger: logger
        ).equalDigests(of: "d", leaves)
        await gateway.shutdown()
        return (equal, requests.withLock { $0 })
    }

    @Test func equalBytesAreDetected() async throws {
        let leaves = try ["3-a": "md5-A", "3-b": "md5-B", "3-c": "md5-C", "2-d": "md5-B"]
            .sorted { $0.key < $1.key }.map { try leaf($0.key, $0.value) }
        let bodies = ["2-d": "wonderful", "3-a": "wonderful", "3-b": "wonderful", "3-c": "different"]
        let (equal, requests) = try await equalDigests(leaves, bodies)
        #expect(equal == ["md5-A": "md5-B"] && requests == 3)
    }

    @Test func unreadableAttachmentCountsAsDifferent() async throws {
        let leaves = [try leaf("3-a", "md5-A"), try leaf("3-b", "md5-B")]
        #expect(try await equalDigests(leaves, ["3-b": "wonderful"]).equal.isEmpty)
    }

    @Test(arguments: [
        ["md5-A", "md5-A"], ["sha1-A", "sha1-B"], ["sha256-A", "other"],
    ])
    func attachmentsWithComparableDigestsAreNotRead(digests: [String]) async throws {
        let leaves = try digests.enumerated().map { try leaf("3-\($0)", $1) }
        #expect(try await equalDigests(leaves, [:]).requests == 0)
        let types = [try leaf("3-a", "md5-A"), try leaf("3-b", "md5-B", type: "image/png")]
        #expect(try await equalDigests(types, [:]).requests == 0)
    }
}
