import Fleet
import GatewayClient
import Locking
import TestKit
import Testing

@testable import BotState
@testable import Bots

/// The feed as a fleet's leader reads it.
@Suite(.limitedParallelism) struct GatewayFeedTests {
    private static let failed = #"{"id":"","changes":null,"err":{}}"#

    private func read(_ rows: [String], last: Int, limit: Int = 100) async throws -> FeedPart {
        let server = try ScriptedServer { _, _ in ScriptedServer.feed(rows, last: last) }
        defer { server.server.stop() }
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        let feed = GatewayFeed(
            gateway: gateway, channels: nil, start: .start, noteCaughtUp: { _ in }, save: { _ in })
        do {
            let part = try await feed.changes(after: "0", limit: limit)
            await gateway.shutdown()
            return part
        } catch {
            await gateway.shutdown()
            throw error
        }
    }

    @Test func changesAreEntriesWithoutDocuments() async throws {
        let part = try await read([ScriptedServer.row(1), ScriptedServer.row(2)], last: 2)
        #expect(part.entries.map(\.sequence) == ["1", "2"])
        #expect(part.sequence.flatMap { SequenceID($0) }?.queryValue == "2")
    }

    /// For rules with `leave`. Without them, revocations are not requested.
    @Test(arguments: [true, false]) func lostDocumentsAreEntries(includesRevocations: Bool) async throws {
        let rows = [
            #"{"seq":1,"id":"a","removed":["x"],"changes":[{"rev":"2-a"}]}"#,
            #"{"seq":2,"id":"b","revoked":true,"removed":["x"],"changes":[{"rev":"1-b"}]}"#, ScriptedServer.row(3),
        ]
        let server = try ScriptedServer { _, _ in ScriptedServer.feed(rows, last: 3) }
        defer { server.server.stop() }
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        var feed = GatewayFeed(gateway: gateway, channels: nil, start: .start, noteCaughtUp: { _ in }, save: { _ in })
        feed.includesRevocations = includesRevocations
        let part = try await feed.changes(after: "0", limit: 100)
        await gateway.shutdown()
        #expect(part.entries.map(\.kind) == [.lost, .lost, .changed])
        #expect(part.entries.map(\.revision).prefix(2) == ["2-a", "1-b"])
        let isAsked = server.requests("/todo/_changes").contains { $0.target.contains("revocations=true") }
        #expect(isAsked == includesRevocations)
    }

    /// The answer lacks the rows after it, although its `last_seq` is a later sequence.
    @Test func feedIsNotReadPastAnErrorRow() async throws {
        let part = try await read([ScriptedServer.row(1), Self.failed], last: 9)
        #expect(part.entries.map(\.sequence) == ["1"])
        #expect(part.sequence.flatMap { SequenceID($0) }?.queryValue == "1")
    }

    @Test func feedThatStartsWithAnErrorRowIsReadAgain() async throws {
        let error = await #expect(throws: GatewayError.self) { try await read([Self.failed], last: 9) }
        #expect(error?.code == .serverError)
    }

    /// The database may have been replaced before the first request, after a failed one, and when the feed goes back.
    @Test func databaseIsConfirmedBeforeMoreIsRead() async throws {
        let server = try ScriptedServer { _, number in
            switch number {
            case 1: .init(status: 503, body: "{}")
            case 4: ScriptedServer.feed([ScriptedServer.row(1)], last: 1)
            default: ScriptedServer.feed([ScriptedServer.row(90_000)], last: 90_000)
            }
        }
        defer { server.server.stop() }
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        let events = Locked<[String]>([])
        var feed = GatewayFeed(gateway: gateway, channels: nil, start: .start, noteCaughtUp: { _ in }, save: { _ in })
        feed.confirmDatabase = { events.withLock { $0.append("confirmed") } }
        for _ in 0..<5 {
            do {
                let part = try await feed.changes(after: "80000", limit: 100)
                events.withLock { $0.append("read \(part.entries.count)") }
            } catch {
                events.withLock { $0.append("failed") }
            }
        }
        await gateway.shutdown()
        #expect(
            events.withLock { $0 } == [
                "confirmed", "read 1", "failed", "confirmed", "read 1", "read 1", "confirmed", "read 1",
            ])
    }

    @Test func otherDatabaseIsNotRead() async throws {
        let server = try ScriptedServer { _, _ in ScriptedServer.feed([ScriptedServer.row(1)], last: 1) }
        defer { server.server.stop() }
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        var feed = GatewayFeed(gateway: gateway, channels: nil, start: .start, noteCaughtUp: { _ in }, save: { _ in })
        feed.confirmDatabase = { throw DatabaseReset(mark: nil) }
        await #expect(throws: DatabaseReset.self) { try await feed.changes(after: "0", limit: 100) }
        #expect(server.requests("/todo/_changes").isEmpty)
        await gateway.shutdown()
    }

    @Test func emptyAnswerWithANewSequenceMovesTheLog() async throws {
        let part = try await read([], last: 5)
        #expect(part.entries.isEmpty)
        #expect(part.sequence.flatMap { SequenceID($0) }?.queryValue == "5")
    }
}
