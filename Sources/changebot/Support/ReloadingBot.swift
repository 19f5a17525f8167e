internal import DocumentFlow
internal import Locking
internal import Logging
internal import Monitoring
internal import Pipeline
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
    /// Nil: changed rules are not applied to documents from before.
    let fixState: StateLocation?
    /// Those of changed rules on documents from before.
    private let deadLettersOfCatchUp = Locked(0)

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
                return try checkCatchUp()
            }
            await parts.report.reconnect()
        }
    }

    private func bot(_ version: RuleVersion) -> Bot {
        var settings = settings
        settings.delivery = parts.settings
        settings.fixOptions = options.map { "\($0) \(version.options)" }
        if let fixState { settings.catchUp = { names in try await apply(names, of: version, fixState) } }
        return Bot(
            gateway: parts.gateway, ruleSet: version.ruleSet,
            state: parts.state.with(ruleSetHash: version.ruleSet.hash), settings: settings, report: parts.report,
            logger: parts.logger)
    }

    /// The exit code of a one-shot run reports dead letters.
    private func checkCatchUp() throws(CommandError) {
        let count = deadLettersOfCatchUp.withLock { $0 }
        guard settings.isOneShot, count > 0, let fixState else { return }
        let deadLetters = count == 1 ? "a dead letter" : "dead letters"
        throw CommandError(
            .incomplete,
            "\(Quantity.count(count, "document")) became \(deadLetters) when new and changed rules were applied to all "
                + "documents; see them with: changebot dead-letters list \(fixState.options)")
    }

    /// Applies some of the rules to all documents.
    ///
    /// - Returns: Whether it has come to its end.
    /// - Throws: Why it has not, in a one-shot run. A daemon logs that.
    private func apply(_ names: [String], of version: RuleVersion, _ location: StateLocation) async throws -> Bool {
        let logger = parts.logger
        let list: Logger.Metadata = [LogKey.rules: "\(names.joined(separator: ", "))"]
        logger.notice("applying new and changed rules to all documents", metadata: list)
        do {
            let ruleSet = try version.source.ruleSet(only: names)
            var delivery = parts.settings
            delivery.savesCheckpoint = false
            delivery.stateOptions = location.lastingOptions
            // Counted and shown apart from the run.
            delivery.retries.observer = nil
            let report = RunReport()
            let fixer = Fixer(
                gateway: parts.gateway, ruleSet: ruleSet,
                state: try location.statePlace(ruleSetHash: ruleSet.hash, for: .run), name: location.catalogue.name,
                settings: delivery, report: report, logger: logger)
            try await fixer.run()
            try Task.checkCancellation()
            let counters = await report.counters()
            deadLettersOfCatchUp.withLock { $0 = counters.deadLetters }
            logger.notice(
                "applied new and changed rules to all documents",
                metadata: list.merging([
                    "looked_at": "\(counters.changes)", "matched": "\(counters.matched)",
                    "written": "\(counters.written)", LogKey.deadLetters: "\(counters.deadLetters)",
                ]) { $1 })
            return !Task.isShuttingDownGracefully
        } catch {
            guard !Task.isCancelled, !(error is CancellationError) else { return false }
            if settings.isOneShot { throw error }
            logger.warning(
                "new and changed rules could not be applied to all documents; the next start tries again",
                metadata: list.merging([LogKey.reason: "\(CommandError(error))"]) { $1 })
            return false
        }
    }
}
