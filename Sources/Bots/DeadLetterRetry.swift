package import BotState
package import Delivery
internal import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging
package import Rules
internal import ServiceLifecycle

/// `changebot dead-letters retry`: applies the rules to the current revisions of dead-lettered documents.
///
/// It may run at the same time as a `run` of the same name: both record their writes in the same state, so the run does
/// not decide them again. If the run sees a write before it is recorded, it finds nothing to do. A dead letter is
/// removed when its document is written or needs no change; if the document fails again, it stays, with the new reason.
/// Killing the process never loses the dead letter of an unfinished document.
package struct DeadLetterRetry: Service {
    /// Which dead letters are retried.
    package enum Selection: Sendable {
        /// Those with these numbers.
        case numbers([Int])
        /// Those that match the filter, up to this number.
        case matching(DeadLetterFilter, upTo: Int)

        /// How many of them still exist.
        func count(in ledger: Ledger) throws(StateError) -> Int {
            switch self {
            case .matching(let filter, let last): return try ledger.deadLetterCount(filter, upTo: last)
            case .numbers(let numbers):
                var count = 0
                for number in numbers where try ledger.deadLetter(number) != nil { count += 1 }
                return count
            }
        }
    }

    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let choose: @Sendable (Ledger) throws -> Selection
    private let outcome: RetryOutcome
    private let settings: Delivery.Settings
    private let report: RunReport
    private let logger: Logger
    private let keeper: StateKeeper

    /// - Parameters:
    ///   - name: The name of the bot that dead-lettered them.
    ///   - choose: Selects the dead letters once the state is open.
    package init(
        gateway: Gateway, ruleSet: RuleSet, state: StatePlace, name: String,
        choose: @escaping @Sendable (Ledger) throws -> Selection, outcome: RetryOutcome, settings: Delivery.Settings,
        report: RunReport, logger: Logger
    ) {
        keeper = StateKeeper(
            place: state, gateway: gateway, name: name, retries: settings.retries, report: report, logger: logger)
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.choose = choose
        self.outcome = outcome
        self.settings = settings
        self.report = report
        self.logger = logger
    }

    /// Returns once all of them were retried, or after a graceful shutdown.
    ///
    /// - Throws: `RunError` or ``StateError``.
    package func run() async throws {
        do {
            let ledger = try await cancelWhenGracefulShutdown {
                _ = try await keeper.contact.connect(to: gateway)
                return try await keeper.openStateOfMark().state.ledger
            }
            defer { ledger.close() }
            let deadLetters = try choose(ledger)
            try outcome.begin(deadLetters, ledger)
            defer { outcome.end(ledger) }
            guard outcome.before > 0 else { return }
            try await ledger.keepTraces(days: nil)
            var settings = settings
            settings.pauses = .endedByGracefulShutdown
            let timers = try await DocumentTimers(ledger, rules: nil)
            let paused = Set(try ledger.pausedRules().filter(\.isPaused).map(\.name))
            if !paused.isEmpty {
                logger.notice(
                    "rules are paused: they do not fire; their dead letters, and those that name no rule, are kept",
                    metadata: [LogKey.rules: "\(paused.sorted().joined(separator: ", "))"])
            }
            let delivery = try await Delivery(
                gateway: gateway, ruleSet: ruleSet.pausing(paused), ledger: ledger, mode: .retry, timers: timers,
                lastSeen: try await LastSeenDocuments.open(ruleSet, in: ledger, belongsToRun: false).documents,
                counts: .requestingRecounts(ruleSet, in: ledger), settings: settings, logger: logger)
            await report.watch(delivery, hasSequence: false)
            try await delivery.run(
                from: DeadLetterSource(gateway: gateway, selection: deadLetters, outcome: outcome))
        } catch is CancellationError where Task.isAskedToStop {
        }
    }

}

/// How many dead letters a ``DeadLetterRetry`` had to retry, and how many are left.
package final class RetryOutcome: Sendable {
    private struct State {
        var before = 0
        var retried: [Int] = []
        var left = 0
    }

    private let state = Locked(State())

    /// Both counts are zero until the retry has opened its state.
    package init() {}

    /// How many dead letters were selected at the start.
    package var before: Int { state.withLock(\.before) }
    /// How many of them still exist. Equal to ``before`` until the retry ends.
    package var left: Int { state.withLock(\.left) }

    func begin(_ deadLetters: DeadLetterRetry.Selection, _ ledger: Ledger) throws(StateError) {
        let count = try deadLetters.count(in: ledger)
        state.withLock { $0 = State(before: count, left: count) }
    }

    /// Notes dead letters that are about to be retried. One that fails again keeps its number, even if its reason
    /// changes.
    func note(_ documents: some Sequence<DeadLetteredDocument>) {
        state.withLock { $0.retried += documents.flatMap(\.deadLetters) }
    }

    /// Counts what is left at the end. Dead letters that were not retried count as left. If the state can't be read,
    /// all of them do.
    func end(_ ledger: Ledger) {
        let state = state.withLock { $0 }
        guard let kept = try? state.retried.count(where: { try ledger.deadLetter($0) != nil }) else { return }
        self.state.withLock { $0.left = max(0, state.before - state.retried.count) + kept }
    }
}
