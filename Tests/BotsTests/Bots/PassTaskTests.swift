import Locking
import Logging
import Rules
import ServiceLifecycle
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

@Suite struct PassTaskTests {
    /// Ignores all candidates: a pass has its own delivery.
    private struct NoEnqueuer: CandidateEnqueuer {
        let isDurable = false

        func room() async throws -> Bool { true }
        func enqueue(_ candidates: [Candidate]) async throws -> Int { 0 }
        func waitUntilSettled() async throws -> Bool { true }
    }

    private struct OneTask: Service {
        let task: PassTask

        func run() async throws {
            var task = task
            _ = try await task.runOnce(.readingFeed, NoEnqueuer())
        }
    }

    /// Two passes are due, and the run is stopped during the first.
    @Test(.limitedParallelism) func stoppedDaemonBeginsNoFurtherPass() async throws {
        let schedules = try scheduled("0 3 * * *") + scheduled("0 4 * * *")
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.keepSchedules(schedules, now: 0)
            var settings = BotSettings()
            settings.delivery.now = { 10 * 86_400 }
            let passes = Monitor<[String]>([])
            let task = PassTask(
                schedules,
                { pass in
                    passes.with { $0.append(pass.rules.joined()) }
                    try? await gracefulShutdown()
                    return false
                }, ledger, settings, Logger(label: "passes"))
            let group = ServiceGroup(services: [OneTask(task: task)], logger: Logger(label: "passes"))
            async let ended: Void? = try? group.run()
            await passes.wait { !$0.isEmpty }
            await group.triggerGracefulShutdown()
            await ended
            #expect(passes.quietly(\.self) == ["swept"])
        }
    }
}
