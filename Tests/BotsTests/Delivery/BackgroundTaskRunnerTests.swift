import DocumentFlow
import Locking
import Logging
import ServiceLifecycle
import TestKit
import Testing

@testable import Delivery

/// How a run executes its background tasks.
@Suite struct BackgroundTaskRunnerTests {
    /// Never runs out of work.
    private struct EndlessTask: BackgroundTask {
        let woken = Signal()
        let phases: Monitor<[BackgroundTaskPhase]>

        mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
            -> BackgroundTaskResult
        {
            phases.with { $0.append(phase) }
            await Task.yield()
            return BackgroundTaskResult(hasEnqueued: true)
        }
    }

    private struct Run: Service {
        let runner: BackgroundTaskRunner

        func run() async throws { try await runner.run {} }
    }

    @Test(.limitedParallelism) func stoppedRunLeavesRemainingTasks() async throws {
        let phases = Monitor<[BackgroundTaskPhase]>([])
        let flow = CandidateFlow(queue: CandidateQueue(), budget: MemoryBudget(MemoryPool(bytes: 1000), documents: 10))
        let runner = BackgroundTaskRunner(
            factories: [{ EndlessTask(phases: phases) }], flow: flow, endsOnceSettled: true)
        let group = ServiceGroup(services: [Run(runner: runner)], logger: Logger(label: "backgroundTasks"))
        async let ended: Void = group.run()
        await phases.wait { $0.count { $0 == .settled } > 2 }
        await group.triggerGracefulShutdown()
        try await ended
        #expect(phases.quietly(\.self).last == .stopping)
    }

    /// A short feed may end before a background task begins.
    @Test(.limitedParallelism) func taskRunsOnceAlthoughTheFeedHasEnded() async throws {
        struct NoEnqueuer: CandidateEnqueuer {
            let isDurable = false
            func room() async throws -> Bool { true }
            func enqueue(_ candidates: [Candidate]) async throws -> Int { candidates.count }
            func waitUntilSettled() async throws -> Bool { true }
        }
        let phases = Monitor<[BackgroundTaskPhase]>([])
        var task = EndlessTask(phases: phases)
        try await task.work(NoEnqueuer(), until: Monitor(true))
        #expect(phases.quietly(\.self) == [.readingFeed])
    }
}
