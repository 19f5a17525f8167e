internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules

/// Gives resumed rules the changes that they missed while they were paused, one rule after the other, while the run reads
/// the feed.
///
/// If the process is killed before the end, the next one starts again: the state has the rule until then.
struct ResumedRulesTask: BackgroundTask {
    /// How long it waits after a failure.
    private static let retryWait: Duration = .seconds(60)
    /// How often it asks whether the other members apply the rule again.
    private static let memberInterval: Duration = .seconds(1)

    let delivery: Delivery
    let runner: PassRunner
    /// The rules of the bot.
    let ruleSet: RuleSet
    let settings: BotSettings
    let woken = Signal("resumed rules")
    private var waiting: [PausedRule]
    private var notBefore = ContinuousClock.Instant.now

    /// - Parameter resumed: In order.
    init(
        _ resumed: [PausedRule], _ runner: PassRunner, _ delivery: Delivery, _ ruleSet: RuleSet, _ settings: BotSettings
    ) {
        (waiting, self.runner, self.delivery) = (resumed, runner, delivery)
        (self.ruleSet, self.settings) = (ruleSet, settings)
    }

    private var ledger: Ledger { delivery.ledger }

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        guard phase == .readingFeed else { return BackgroundTaskResult() }
        while let rule = waiting.first {
            guard notBefore <= .now else { return BackgroundTaskResult(next: notBefore) }
            // Until then, other members may still leave the rule out.
            guard try await ledger.isTakenUp(order: rule.order) else {
                return BackgroundTaskResult(next: .now + Self.memberInterval)
            }
            if let pass = try pass(for: rule) {
                switch try await run(pass, for: rule) {
                case .completed, .cancelled: break
                case .failed:
                    guard !Task.isAskedToStop else { return BackgroundTaskResult() }
                    notBefore = .now + Self.retryWait
                    continue
                }
            }
            try await ledger.noteCaughtUp(rule)
            waiting.removeFirst()
        }
        return BackgroundTaskResult()
    }

    /// Ends the pass early if there was another order about the rule.
    private func run(_ pass: PassRunner.Pass, for rule: PausedRule) async throws -> PassRunner.End {
        try await runner.run(pass, orderedIn: ledger) { ledger throws(StateError) in
            try ledger.pausedRules().contains { $0.order == rule.order && $0.name == rule.name }
        }
    }

    /// Nil: the rule has missed nothing.
    private func pass(for rule: PausedRule) throws -> PassRunner.Pass? {
        guard ruleSet.names.contains(rule.name) else { return try scheduledPass(for: rule) }
        return .resumed(rule, channels: settings.feed.channels, settings.effectLimits, delivery)
    }

    /// A rule of a file with `every` has missed a pass if other rules of the file had one. Otherwise the schedule makes up
    /// for it. Nil also if there is no such rule any longer.
    private func scheduledPass(for rule: PausedRule) throws -> PassRunner.Pass? {
        guard let schedule = settings.schedules.first(where: { $0.names.contains(rule.name) }),
            let recorded = try ledger.schedules().first(where: { $0.matches(schedule) }), recorded.done > rule.pausedAt
        else { return nil }
        return .scheduled([rule.name], began: settings.delivery.now(), time: recorded.done)
    }
}
