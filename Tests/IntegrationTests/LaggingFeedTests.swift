import DocumentFlow
import GatewayClient
import Locking
import Logging
import TestKit
import Testing

/// Sync Gateway acknowledges a write before its feed contains it. A one-shot run that began after the write must see
/// it.
@Suite(.limitedParallelism) struct LaggingFeedTests {
    /// Rows up to 6; the last write has the sequence 7. Without `request_plus`, the feed does not hold it.
    ///
    /// Recorded from Sync Gateway 4.1.1: after a write with `update_seq` 72447, `_changes?since=72446` had no rows and
    /// `"last_seq":"72446"`.
    private static func answer(to request: TestRequest) -> String {
        if request.target.contains("since=0&") {
            return ScriptedServer.feed((1...6).map(ScriptedServer.row), last: 6).body
        }
        guard request.target.contains("request_plus=true") else { return ScriptedServer.feed([], last: 6).body }
        return ScriptedServer.feed([ScriptedServer.row(7)], last: 7).body
    }

    private func reader(_ server: TestServer, _ logger: Logger = BotTestBed.logger) throws -> FeedReader {
        FeedReader(
            gateway: Gateway(try GatewayURL(server.url("/todo"))), end: .caughtUp(with: SequenceID("7")),
            retries: .init(), logger: logger, noteRetry: {})
    }

    private func read(_ reader: FeedReader) async throws -> [String] {
        var ids: [String] = []
        try await reader.read(from: .start) { rows, _ in ids += rows?.map(\.id.text) ?? [] }
        return ids
    }

    @Test func runWaitsForItsLastWriteInTheFeed() async throws {
        let asked = Locked<[String]>([])
        let server = try TestServer { connection in
            try connection.serve { request in
                asked.withLock { $0.append(request.target) }
                try connection.answer(headers: ScriptedServer.syncGateway, body: Self.answer(to: request))
            }
        }
        #expect(try await read(reader(server)) == (1...7).map { "t\($0)" })
        #expect(
            asked.withLock { $0 } == [
                "/todo/_changes?since=0&include_docs=true", "/todo/_changes?since=6&include_docs=true",
                "/todo/_changes?since=6&include_docs=true&request_plus=true",
            ])
    }

    /// A node that died may have reserved sequences that are never used.
    @Test func gatewayThatNeverConfirmsEndsTheRun() async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                guard request.target.contains("request_plus") else {
                    return try connection.answer(headers: ScriptedServer.syncGateway, body: Self.answer(to: request))
                }
                connection.waitForClose()
            }
        }
        let logged = EventCounter()
        let logger = Logger(label: "test") { _ in Witness(words: "did not confirm", seen: logged) }
        var reader = try reader(server, logger)
        reader.waits.maxWaitForWrites = .milliseconds(100)
        #expect(try await read(reader) == (1...6).map { "t\($0)" })
        #expect(logged.count == 1)
    }
}
