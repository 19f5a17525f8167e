import DocumentFlow
import GatewayClient
import TestKit
import Testing

/// Databases that are missing when the feed is read for the first time, although the bot has connected.
@Suite(.limitedParallelism) struct MissingDatabaseTests {
    private struct Stop: Error {}

    private static let missing = #"{"error":"not_found","reason":"Database does not exist."}"#
    private static let information = #"{"db_name":"todo","update_seq":"1-x","sizes":{},"doc_count":1}"#
    private static let headers = ["Content-Type: application/json", "Server: CouchDB/3.5.0 (Erlang OTP/25)"]

    private func read(
        _ server: TestServer, _ keyspace: String = "todo", isDaemon: Bool, _ deliver: @escaping () throws -> Void
    ) async throws {
        var retries = RetryPolicy.Settings()
        retries.isDaemon = isDaemon
        let gateway = Gateway(try GatewayURL(server.url("/\(keyspace)")))
        let reader = FeedReader(
            gateway: gateway, end: isDaemon ? .never : .caughtUp(with: nil), retries: retries,
            logger: BotTestBed.logger, noteRetry: {})
        do { try await reader.read(from: .start) { _, _ in try deliver() } } catch {
            await gateway.shutdown()
            throw error
        }
        await gateway.shutdown()
    }

    /// Regression: a daemon ended with 66, even if only the feed was missing.
    @Test(arguments: ["todo", "todo.s.c"], [true, false])
    func daemonWaitsForAMissingDatabase(keyspace: String, isDatabaseMissing: Bool) async throws {
        let feeds = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                let isFeed = request.target.hasPrefix("/\(keyspace)/_changes")
                if isFeed { feeds.increment() }
                if isFeed, feeds.count > 4 {
                    let row = #"{"seq":"1-x","id":"a","changes":[{"rev":"1-a"}]}"#
                    let body = #"{"results":[\#(row)],"last_seq":"1-x","pending":0}"#
                    try connection.answer(headers: Self.headers, body: body)
                } else if isFeed || isDatabaseMissing {
                    try connection.answer(404, headers: Self.headers, body: Self.missing)
                } else {
                    try connection.answer(headers: Self.headers, body: Self.information)
                }
            }
        }
        defer { server.stop() }
        await #expect(throws: Stop.self) { try await read(server, keyspace, isDaemon: true) { throw Stop() } }
        #expect(feeds.count == 5)
    }

    @Test(arguments: [true, false])
    func collectionMissingInItsDatabaseEndsTheRun(isDaemon: Bool) async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                let isFeed = request.target.hasPrefix("/todo.s.c/_changes")
                try connection.answer(
                    isFeed ? 404 : 200, headers: Self.headers,
                    body: isFeed
                        ? #"{"error":"not_found","reason":"keyspace todo.s.c not found"}"# : Self.information)
            }
        }
        defer { server.stop() }
        let error = await #expect(throws: RunError.self) { try await read(server, "todo.s.c", isDaemon: isDaemon) {} }
        #expect(error?.code == .databaseMissing)
    }

    @Test func oneShotRunGivesUpSoon() async throws {
        let feeds = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                if request.target.hasPrefix("/todo/_changes") { feeds.increment() }
                try connection.answer(404, headers: Self.headers, body: Self.missing)
            }
        }
        defer { server.stop() }
        let error = await #expect(throws: RunError.self) { try await read(server, isDaemon: false) {} }
        #expect(error?.code == .databaseMissing)
        #expect(feeds.count == 3)
    }
}
