import PostgreSQL
import Testing

@testable import BotState

/// The lock of the engine under which members write the mark of the database.
@Suite struct MarkLockTests {
    /// Regression: without an answer, a member went on without the lock. Two members could then give a new database
    /// different marks.
    @Test(arguments: [true, false])
    func withoutAnAnswerOfTheEngineNothingIsDone(waits: Bool) async throws {
        let address = try PostgresAddress("postgres://postgres@127.0.0.1:1/postgres")
        let engine = Engine(address, fleet: "f", user: nil, password: { nil }, lease: .seconds(10))
        let error = await #expect(throws: StateError.self) {
            try await engine.withExclusiveMark(waits: waits) { Issue.record("it has no lock") }
        }
        guard case .engineUnavailable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
