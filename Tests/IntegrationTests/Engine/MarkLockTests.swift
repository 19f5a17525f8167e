import GatewayClient
import PostgreSQL
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots

/// The lock of the engine under which members write the mark of the database.
@Suite(.limitedParallelism) struct MarkLockTests {
    /// Regression: without an answer, a member went on without the lock. Two members could then give a new database
    /// different marks.
    @Test func withoutAnAnswerOfTheEngineNothingIsDone() async throws {
        let address = try PostgresAddress("postgres://postgres@127.0.0.1:1/postgres")
        let engine = Engine(address, fleet: "f", user: nil, password: { nil }, lease: .seconds(10))
        let error = await #expect(throws: StateError.self) {
            try await engine.withExclusiveMark(waits: true) { Issue.record("it has no lock") }
        }
        guard case .engineUnavailable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await engine.withExclusiveMark(waits: false) { Issue.record("it has no lock") }
    }

    /// Regression: the mark was not written again, because the member itself had the lock.
    @Test func markIsWrittenAgainAtAnotherAddress() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let marks = MarkDocument(gateway: Gateway(fleet.bed.url, settings: fleet.bed.settings), name: "changebot")
            func writes(at address: String) async throws -> Int {
                let before = try await marks.find()?.generation ?? 0
                var settings = BotSettings()
                settings.isOneShot = true
                let catalogue = StateCatalogue(
                    directory: fleet.bed.directory + "/member", name: "bot", engine: try fleet.engine())
                let place = StatePlace(catalogue, address: address, ruleSetHash: rules.hash, purpose: .run)
                try await Bot(
                    gateway: Gateway(GatewayURL(address), settings: fleet.bed.settings), ruleSet: rules, state: place,
                    settings: settings, report: RunReport(), logger: BotTestBed.logger
                ).run()
                return try await (marks.find()?.generation ?? 0) - before
            }
            let address = fleet.bed.url.description
            _ = try await writes(at: address)
            let usual = try await writes(at: address)
            let moved = try await writes(at: address.replacing("127.0.0.1", with: "localhost"))
            #expect(moved == usual + 1)
        }
    }
}
