import GatewayClient
import Testing

@testable import DocumentFlow

@Suite struct RunProgressTests {
    /// A dead letter that is refused keeps its change from being passed: the run must end even if the share sinks again.
    @Test func aShareOfErrorsThatWasExceededStaysSo() async throws {
        let progress = RunProgress(start: .start)
        let limit = ErrorLimit.percent(10)
        await progress.count { $0.matched = 100 }
        #expect(await progress.admit(15, limit) == 11)
        await progress.count { $0.matched = 10_000 }
        #expect(await progress.admit(1, limit) == 0)
        await #expect(throws: RunError.self) { try await progress.check(limit) }
    }

    @Test func withoutALimitAllDeadLettersAreKept() async throws {
        let progress = RunProgress(start: .start)
        #expect(await progress.admit(1000, nil) == 1000)
        try await progress.check(nil)
        #expect(await progress.counters.deadLetters == 1000)
    }
}
