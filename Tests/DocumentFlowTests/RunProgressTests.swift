import GatewayClient
import Testing

@testable import DocumentFlow

@Suite struct RunProgressTests {
    /// A refused dead letter holds back its change, so the run must end even if the percentage falls again.
    @Test func exceededErrorPercentageStaysExceeded() async throws {
        let progress = RunProgress(start: .start)
        let limit = ErrorLimit.percent(10)
        await progress.count { $0.matched = 100 }
        #expect(await progress.admit(15, limit) == 11)
        await progress.count { $0.matched = 10_000 }
        #expect(await progress.admit(1, limit) == 0)
        await #expect(throws: RunError.self) { try await progress.check(limit) }
    }

    @Test func allDeadLettersAreKeptWithoutALimit() async throws {
        let progress = RunProgress(start: .start)
        #expect(await progress.admit(1000, nil) == 1000)
        try await progress.check(nil)
        #expect(await progress.counters.deadLetters == 1000)
    }

    /// Regression: a bot wrote to the disk for each single change of others.
    @Test func fewChangesWithoutWorkCauseNoCheckpoint() async throws {
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

    @Test func finishedWorkCausesACheckpointOnceTheSafeSequencePassesIt() async throws {
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

    @Test func endOfTheRunEndsTheWaitForACheckpoint() async {
        let progress = RunProgress(start: .start)
        async let isDue = progress.waitUntilCheckpointIsDue()
        await progress.end()
        #expect(await !isDue)
    }

    @Test func runIsSettledOnceAllChangesAreFinished() async throws {
        let progress = RunProgress(start: .start)
        try await progress.waitUntilSettled(atMost: .seconds(600))
        let sequences = try (1...3).map { try #require(SequenceID("\($0)")) }
        let tickets = await progress.advance(
            through: sequences.dropLast().map { (nil, $0) }, to: sequences[2], changes: 3, bytes: 0)
        await progress.finish([tickets[1]])
        try await progress.waitUntilSettled(atMost: .milliseconds(1))
        async let settled: Void = progress.waitUntilSettled(atMost: .seconds(600))
        await progress.finish([tickets[0]])
        try await settled
    }

    @Test func endingRunDoesNotWaitForItsChanges() async throws {
        let progress = RunProgress(start: .start)
        let sequence = try #require(SequenceID("1"))
        _ = await progress.advance(through: [(nil, sequence)], to: sequence, changes: 1, bytes: 0)
        let waiting = Task { try await progress.waitUntilSettled(atMost: .seconds(600)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
