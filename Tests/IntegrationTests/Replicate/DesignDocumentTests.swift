import DocumentFlow
import GatewayClient
import Logging
import TestKit
import Testing
import Transfer

/// Replication of CouchDB's design documents to a target that has none.
@Suite(.limitedParallelism) struct DesignDocumentTests {
    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]

    /// A CouchDB with two design documents: one is in conflict, the other is deleted.
    private func source() throws -> ScriptedServer {
        let rows = [
            #"{"seq":"1-x","id":"_design/app","changes":[{"rev":"2-a"},{"rev":"2-b"}]}"#,
            #"{"seq":"2-x","id":"_design/old","changes":[{"rev":"2-c"}],"deleted":true}"#,
        ].joined(separator: ",")
        let information =
            #"{"instance_start_time":"1","db_name":"todo","purge_seq":"0-x","update_seq":"2-x","doc_count":1}"#
        return try ScriptedServer(information: information, headers: Self.headers) { request, number in
            switch request.path {
            case "/":
                .init(headers: Self.headers, body: #"{"couchdb":"Welcome","version":"3.5.0","uuid":"u","features":[]}"#)
            case "/todo/_changes":
                .init(
                    headers: Self.headers,
                    body: #"{"results":[\#(number == 0 ? rows : "")],"last_seq":"2-x","pending":0}"#)
            default: .init(status: 404, headers: Self.headers, body: #"{"error":"not_found","reason":"missing"}"#)
            }
        }
    }

    /// Regression: each one was refused, so the run ended with 1.
    @Test func designDocumentsAreLeftOutIfTheTargetHasNone() async throws {
        let source = try source()
        defer { source.server.stop() }
        let told = EventCounter()
        try await BotTestBed.withFile { target in
            let end = ReplicationEnd(
                Gateway(try GatewayURL(source.server.url("/todo"))),
                identity: ReplicationID.End(address: source.server.url("/todo"), user: nil),
                contact: GatewayContact(settings: RetryPolicy.Settings(), logger: BotTestBed.logger))
            let report = ReplicationReport()
            let logger = Logger(label: "test") { _ in Witness(words: "design documents are left out", seen: told) }
            try await Replicator(
                from: end, to: target.end(), settings: ReplicationSettings(), report: report, logger: logger
            ).run()
            let counts = report.state.counts
            #expect(counts.failed == 0 && counts.filtered == 3 && counts.missing == 0)
            #expect(report.state.lastSequence == SequenceID("2-x"))
            #expect(told.count == 1)
        }
    }
}
