import GatewayClient
import Locking
import Logging
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Delivery

/// Tasks that run as long as the run has work, such as the check for a reset of the database.
@Suite struct CompanionTests {
    /// Delivers nothing.
    private struct EmptySource: WorkSource {
        func run(into delivery: Delivery) async throws {}
    }

    /// Continues after the feed has ended, until the run or the companion is cancelled.
    private struct LongTask: BackgroundTask {
        let woken = Signal()
        let isAtWork: Monitor<Bool>
        let isCompanionCancelled: Monitor<Bool>

        mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
            -> BackgroundTaskResult
        {
            guard case .settled = phase else { return BackgroundTaskResult() }
            isAtWork.with { $0 = true }
            await isCompanionCancelled.wait(until: \.self)
            return BackgroundTaskResult()
        }
    }

    private struct DatabaseGone: Error {}

    @Test(.limitedParallelism) func companionContinuesUntilTheTasksHaveEnded() async throws {
        let rules = try ruleSet("version: 1\nrules: [{name: none, when: {type: none}, then: []}]")
        try await LedgerTestBed.withLedger { _, ledger in
            let delivery = try await Delivery(
                gateway: Gateway(try GatewayURL("http://127.0.0.1:1/todo")), ruleSet: rules, ledger: ledger,
                mode: .once(nil), settings: Delivery.Settings(), logger: Logger(label: "companions"))
            let (isAtWork, isCompanionCancelled) = (Monitor(false), Monitor(false))
            await #expect(throws: DatabaseGone.self) {
                try await delivery.run(
                    from: EmptySource(),
                    backgroundTasks: [{ LongTask(isAtWork: isAtWork, isCompanionCancelled: isCompanionCancelled) }],
                    companions: [
                        {
                            await isAtWork.wait(until: \.self)
                            guard !Task.isCancelled else { return isCompanionCancelled.with { $0 = true } }
                            throw DatabaseGone()
                        }
                    ])
            }
        }
    }
}
