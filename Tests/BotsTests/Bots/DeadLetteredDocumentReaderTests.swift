import DocumentFlow
import GatewayClient
import Logging
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// What remains of a document that the gateway does not return.
@Suite struct MissingDocumentTests {
    /// The content as text for comparison.
    fileprivate static func text(_ content: RetriedDocument.Content?) -> String? {
        switch content {
        case .tombstone(let revision, let text):
            text.root["_rev"]?.string == revision.text ? "tombstone \(revision.text)" : "another tombstone"
        case .gone: "gone"
        case .unreadable(let reason): "unreadable: \(reason)"
        case .document: "document"
        case .unknown: "unknown"
        case nil: nil
        }
    }

    @Test(arguments: [
        ([], "gone"), ([#"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-b"),
        // The winner is the leaf with the highest generation, by number, then the greater digest.
        ([#"{"_rev":"9-a","_deleted":true}"#, #"{"_rev":"10-a","_deleted":true}"#], "tombstone 10-a"),
        ([#"{"_rev":"2-b","_deleted":true}"#, #"{"_rev":"2-c","_deleted":true}"#], "tombstone 2-c"),
        ([#"{"_rev":"2-c","_deleted":true}"#, #"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-c"),
        // Leaves that are not deleted or have no revision are not tombstones.
        ([#"{"_rev":"3-c"}"#, #"{"_rev":"2-b","_deleted":true}"#], "tombstone 2-b"),
        ([#"{"_rev":"3-c","_deleted":false}"#], "gone"), ([#"{"_rev":"3-c","_deleted":1}"#], "gone"),
        ([#"{"_deleted":true}"#], "gone"),
    ])
    func winningTombstoneRemains(leaves: [String], content: String) throws {
        let leaves = try leaves.map { OpenRevision.found(try JSONText($0)) } + [.missing(RevisionID("99-z"))]
        #expect(Self.text(MissingDocument.content(of: leaves)) == content)
    }

    @Test(
        arguments: [
            (.notFound, true, "gone"), (.badRequest, true, "unreadable: x"), (.tooLarge, true, "unreadable: x"),
            (.malformedAnswer, false, "unreadable: x"), (.serverError, false, "unreadable: x"),
            (.unavailable, false, "unreadable: x"), (.forbidden, false, "unreadable: x"),
        ] as [(GatewayError.Code, Bool, String)])
    func finalErrorDecidesWhatRemains(code: GatewayError.Code, isFinal: Bool, content: String) {
        let error = GatewayError(code, "x")
        #expect(MissingDocument.isFinal(error) == isFinal)
        #expect(Self.text(MissingDocument.content(after: error)) == content)
    }
}

/// Dead-lettered documents, read from a gateway that fails for one of them.
@Suite(.limitedParallelism) struct DeadLetteredDocumentReaderTests {
    private struct HangUp: Error {}

    /// Reads two deleted documents. The gateway has a tombstone of the second.
    ///
    /// - Parameter status: The response for the first document; nil: the gateway closes the connection.
    private func read(status: Int?, database: Int = 200) async throws -> [String] {
        let server = try TestServer { connection in
            try connection.serve { request in
                let headers = ["Server: Couchbase Sync Gateway/4.1.1 CE", "Content-Type: application/json"]
                switch request.target.prefix(while: { $0 != "?" }) {
                case "/todo/":
                    try connection.answer(
                        database, headers: headers, body: #"{"db_name":"todo","update_seq":9,"state":"Online"}"#)
                case "/todo/_all_docs":
                    let rows = ["a", "b"].map { #"{"key":"\#($0)","error":"not_found"}"# }
                    try connection.answer(headers: headers, body: #"{"rows":[\#(rows.joined(separator: ","))]}"#)
                case "/todo/a":
                    guard let status else { throw HangUp() }
                    try connection.answer(status, headers: headers, body: #"{"error":"no","reason":"broken"}"#)
                default:
                    try connection.answer(
                        headers: headers, body: #"[{"ok":{"_id":"b","_rev":"2-b","_deleted":true}}]"#)
                }
            }
        }
        defer { server.stop() }
        let rules = try ruleSet(
            """
            version: 1
            rules:
              - name: gone
                on: [delete]
                when: { _id: { $exists: true } }
                then: [{ put: { id: told, document: { gone: true } } }]
            """)
        var settings = Delivery.Settings()
        settings.retries.retryFor = .milliseconds(600)
        let gateway = Gateway(try GatewayURL(server.url("/todo")))
        var reader = DeadLetteredDocumentReader(
            gateway: gateway, decidesDeletions: rules.decidesDeletions, progress: RunProgress(start: .start),
            settings: settings, logger: Logger(label: "", factory: { _ in SwiftLogNoOpLogHandler() }))
        let documents = ["a", "b"].enumerated().map { number, id in
            DeadLetteredDocument(id: DocumentID(id), deadLetters: [number + 1], sequence: nil)
        }
        var read: [String] = []
        do {
            try await reader.read(documents[...]) { retried in
                read += retried.map { MissingDocumentTests.text($0.content) ?? "" }
            }
        } catch {
            await gateway.shutdown()
            throw error
        }
        await gateway.shutdown()
        return read
    }

    /// Regression: the whole retry ended, and other dead letters were not retried.
    @Test(arguments: [500, 502, 503, 429, 401, 403, 405, nil])
    func permanentlyFailingDocumentIsSkipped(status: Int?) async throws {
        let read = try await read(status: status)
        #expect(read.first?.hasPrefix("unreadable") == true && read.last == "tombstone 2-b", "\(read)")
    }

    @Test func missingDocumentIsGone() async throws {
        #expect(try await read(status: 404) == ["gone", "tombstone 2-b"])
    }

    /// If the gateway does not answer at all, the document is not the cause.
    @Test func outageEndsTheRetry() async throws {
        let failure = await #expect(throws: RunError.self) { try await read(status: 500, database: 503) }
        #expect(failure?.code == .gaveUp)
    }
}
