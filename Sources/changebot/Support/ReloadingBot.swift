internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import Locking
internal import Logging
internal import Monitoring
internal import Rules
internal import ServiceLifecycle

/// The rules in force, which may be replaced while a bot runs.
final class RuleSource: Sendable {
    private struct State {
        var current: RuleVersion
        /// How often the rules were replaced.
        var replacements = 0
    }

    private let state: Monitor<State>

    init(_ rules: RuleVersion) { state = Monitor(State(current: rules)) }

    /// The rules, and how often they were replaced.
    var current: (rules: RuleVersion, replacements: Int) { state.quietly { ($0.current, $0.replacements) } }

    func replace(by rules: RuleVersion) {
        state.with { state in
            state.current = rules
            state.replacements += 1
        }
    }

    /// Returns once the rules have been replaced more often than this, or the task is cancelled.
    func waitForReplacement(after replacements: Int) async { await state.wait { $0.replacements > replacements } }
}

/// A bot whose rules may be replaced while it runs.
///
/// At new rules it stops reading, finishes what the old ones have decided, saves its checkpoint, and goes on from there
/// with the new ones: no change is missed, and none is decided by some of both.
struct ReloadingBot: Service {
    let parts: Job.Parts
    let rules: RuleSource
    let settings: BotSettings
    /// The options with which other commands find the bot's state and gateway; nil if the state ends with the run.
    let options: String?
    /// Whether these options also find the rules.
    let findsRules: Bool
    /// Nil: no rules are applied to all documents.
    let passes: PassPlan?
    /// Those of passes over all documents.
    private let deadLettersOfPasses = Locked(0)
    /// They share a state.
    private let passLock = TaskLock()

    func run() async throws {
        while true {
            let (version, replacements) = rules.current
            parts.monitored?.update(version.description)
            let part = StoppableService.part(bot(version), logger: parts.logger)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask {
                    await rules.waitForReplacement(after: replacements)
                    if !Task.isCancelled { parts.logger.info("changing to new rules") }
                    await part.triggerGracefulShutdown()
                }
                defer { tasks.cancelAll() }
                try await part.run()
            }
            // The same rules may have come back meanwhile: the bot has ended all the same.
            guard !Task.isShuttingDownGracefully, rules.current.replacements != replacements else {
                return try checkPasses()
            }
            await parts.report.reconnect()
        }
    }

    private func bot(_ version: RuleVersion) -> Bot {
        var settings = settings
        settings.delivery = parts.settings
        settings.fixOptions = options.map { findsRules ? $0 : "\($0) \(version.options)" }
        if let passes {
            settings.schedules = version.scheduled
            settings.pass = { scheduled, began, time in
                try await apply(.scheduled(scheduled.names, began: began, time: time), of: version, passes.state, nil)
            }
            if passes.catchesUp {
                settings.catchUp = { names, timers in
                    try await apply(.changed(names), of: version, passes.state, timers)
                }
            }
        } else {
            // A dry run says when they would run.
            settings.schedules = version.scheduled
        }
        return Bot(
            gateway: parts.gateway, ruleSet: version.ruleSet,
            state: parts.state.with(ruleSetHash: version.ruleSet.hash), settings: settings, report: parts.report,
            logger: parts.logger)
    }

    /// The exit code of a one-shot run reports dead letters.
    private func checkPasses() throws(CommandError) {
        let count = deadLettersOfPasses.withLock { $0 }
        guard settings.isOneShot, count > 0, let passes else { return }
        let deadLetters = count == 1 ? "a dead letter" : "dead letters"
        let advice =
            passes.state.isTemporary ? "" : "; see them with: changebot dead-letters list \(passes.state.options)"
        throw CommandError(
            .incomplete,
            "\(Quantity.count(count, "document")) became \(deadLetters) when rules were applied to all documents\(advice)"
        )
    }

    /// Applies some of the rules to all documents.
    ///
    /// - Parameters:
    ///   - timers: Receive the times of rules with `at:`. Nil: none are kept.
    /// - Returns: Whether it has come to its end.
    /// - Throws: Why it has not, in a one-shot run. A daemon logs that.
    private func apply(
        _ pass: Pass, of version: RuleVersion, _ location: StateLocation, _ timers: DocumentTimers?
    ) async throws -> Bool {
        try await passLock.withLock { try await applyNow(pass, of: version, location, timers) }
    }

    private func applyNow(
        _ pass: Pass, of version: RuleVersion, _ location: StateLocation, _ timers: DocumentTimers?
    ) async throws -> Bool {
        guard !Task.isCancelled, !Task.isShuttingDownGracefully else { return false }
        let logger = parts.logger
        let list: Logger.Metadata = [LogKey.rules: "\(pass.names.joined(separator: ", "))"]
        logger.notice(pass.beginning, metadata: list)
        do {
            let ruleSet = try version.source.ruleSet(only: pass.names)
            var delivery = parts.settings
            delivery.stateOptions = location.lastingOptions
            var mode = Mode.pass
            if case .scheduled(_, let began, let time) = pass { mode = .scheduledPass(began: began, time: time) }
            // Counted and shown apart from the run.
            delivery.retries.observer = nil
            let report = RunReport()
            defer { location.discardIfTemporary() }
            let fixer = Fixer(
                gateway: parts.gateway, ruleSet: ruleSet,
                state: try location.statePlace(ruleSetHash: ruleSet.hash, for: .run), name: location.catalogue.name,
                mode: mode, settings: delivery, timers: timers, report: report, logger: logger)
            try await fixer.run()
            try Task.checkCancellation()
            let counters = await report.counters()
            deadLettersOfPasses.withLock { $0 += counters.deadLetters }
            logger.notice(
                pass.end,
                metadata: list.merging([
                    "looked_at": "\(counters.changes)", "matched": "\(counters.matched)",
                    "written": "\(counters.written)", LogKey.deadLetters: "\(counters.deadLetters)",
                ]) { $1 })
            return !Task.isShuttingDownGracefully
        } catch {
            guard !Task.isCancelled, !(error is CancellationError) else { return false }
            if settings.isOneShot { throw error }
            logger.warning(pass.failure, metadata: list.merging([LogKey.reason: "\(CommandError(error))"]) { $1 })
            return false
        }
    }

    /// Why rules are applied to all documents.
    fileprivate enum Pass {
        /// They are new or changed.
        case changed([String])
        /// Their `time` has come; `began` is when the pass began. Both in seconds since 1970.
        case scheduled([String], began: Int, time: Int)

        var names: [String] {
            switch self {
            case .changed(let names), .scheduled(let names, _, _): names
            }
        }
    }
}

extension ReloadingBot.Pass {
    fileprivate var beginning: Logger.Message {
        switch self {
        case .changed: "applying new and changed rules to all documents"
        case .scheduled: "applying rules to all documents: their time has come"
        }
    }

    fileprivate var end: Logger.Message {
        switch self {
        case .changed: "applied new and changed rules to all documents"
        case .scheduled: "applied rules to all documents at their time"
        }
    }

    fileprivate var failure: Logger.Message {
        switch self {
        case .changed: "new and changed rules could not be applied to all documents; the next start tries again"
        case .scheduled: "rules could not be applied to all documents at their time; trying again in a minute"
        }
    }
}
