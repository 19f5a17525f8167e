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

    /// A bot that read changes of others, one by one, woke the disk for each.
    @Test func aFewChangesThatNeedNoWorkAreNotWorthACheckpoint() async throws {
        let progress = RunProgress(start: .start)
        let sequences = try (1...3).map { try #require(SequenceID("\($0)")) }
        _ = await progress.advance(through: [], to: sequences[0], changes: 999, bytes: 0)
        #expect(await !progress.isCheckpointDue)
        #expect(await progress.unsaved == sequences[0])
        _ = await progress.advance(through: [], to: sequences[1], changes: 1, bytes: 0)
        #expect(await progress.isCheckpointDue)
        await progress.noteSaved(sequences[1])
        _ = await progress.advance(through: [], to: sequences[2], changes: 999, bytes: 0)
        #expect(await !progress.isCheckpointDue)
    }

    @Test func finishedWorkIsWorthACheckpointOnceTheSafeSequenceHasPassedIt() async throws {
        let progress = RunProgress(start: .start)
        let sequences = try (1...3).map { try #require(SequenceID("\($0)")) }
        let tickets = await progress.advance(
            through: sequences.dropLast().map { (nil, $0) }, to: sequences[2], changes: 3, bytes: 0)
        await progress.finish([tickets[1]])
        #expect(await !progress.isCheckpointDue)
        await progress.finish([tickets[0]])
        #expect(await progress.isCheckpointDue)
        await progress.noteSaved(sequences[2])
        #expect(await !progress.isCheckpointDue)
    }

    @Test func theEndOfTheRunEndsTheWaitForACheckpoint() async {
        let progress = RunProgress(start: .start)
        async let isDue = progress.untilCheckpointIsDue()
        await progress.end()
        #expect(await !isDue)
    }

    @Test func aRunIsSettledOnceAllItsChangesAreFinished() async throws {
        let progress = RunProgress(start: .start)
        try await progress.untilSettled(atMost: .seconds(600))
        let sequences = try (1...3).map { try #require(SequenceID("\($0)")) }
        let tickets = await progress.advance(
            through: sequences.dropLast().map { (nil, $0) }, to: sequences[2], changes: 3, bytes: 0)
        await progress.finish([tickets[1]])
        try await progress.untilSettled(atMost: .milliseconds(1))
        async let settled: Void = progress.untilSettled(atMost: .seconds(600))
        await progress.finish([tickets[0]])
        try await settled
    }

    @Test func aRunThatEndsDoesNotWaitForItsChanges() async throws {
        let progress = RunProgress(start: .start)
        let sequence = try #require(SequenceID("1"))
        _ = await progress.advance(through: [(nil, sequence)], to: sequence, changes: 1, bytes: 0)
        let waiting = Task { try await progress.untilSettled(atMost: .seconds(600)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
