import Fleet
import GatewayClient
import TestKit
import Testing

@testable import Pipeline

/// The feed as the leader of a fleet reads it.
@Suite struct GatewayFeedTests {
    private static let failed = #"{"id":"","changes":null,"err":{}}"#

    private func read(_ rows: [String], last: Int, limit: Int = 100) async throws -> FeedPart {
        let server = try ScriptedServer { _, _ in ScriptedServer.feed(rows, last: last) }
        defer { server.server.stop() }
        let gateway = Gateway(try GatewayURL(server.server.url("/todo")))
        let feed = GatewayFeed(
            gateway: gateway, channels: nil, start: .start, noteStanding: { _ in }, save: { _ in })
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

    /// Those behind it are missing from the answer, although its end names a later sequence.
    @Test func nothingIsReadPastARowThatTheGatewayFailedOn() async throws {
        let part = try await read([ScriptedServer.row(1), Self.failed], last: 9)
        #expect(part.entries.map(\.sequence) == ["1"])
        #expect(part.sequence.flatMap { SequenceID($0) }?.queryValue == "1")
    }

    @Test func aFeedThatBeginsWithSuchARowIsReadAgain() async throws {
        let error = await #expect(throws: GatewayError.self) { try await read([Self.failed], last: 9) }
        #expect(error?.code == .serverError)
    }

    @Test func anEmptyAnswerThatMovesOnMovesTheLog() async throws {
        let part = try await read([], last: 5)
        #expect(part.entries.isEmpty)
        #expect(part.sequence.flatMap { SequenceID($0) }?.queryValue == "5")
    }
}
