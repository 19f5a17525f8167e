internal import BotState
internal import Bots
internal import Delivery
internal import Encodings
internal import Locking
internal import Logging
internal import Monitoring
internal import Rules
internal import ServiceLifecycle

/// One bot of a process, from its first contact to its summary. It owns the connection, report and monitoring, and runs
/// a `Bot` for each version of the rules.
///
/// When the rules are replaced, the `Bot` stops reading, finishes the changes that the old rules have decided, and
/// saves its checkpoint. The next `Bot` continues there, so no change is missed or decided by a mix of both.
struct BotHost: Sendable {
    private struct Rules {
        var current: RuleVersion
        /// How often the rules were replaced.
        var replacements = 0
    }

    private let job: Job
    private let settings: BotSettings
    private let catchesUp: Bool
    private let rules: Monitor<Rules>

    init(_ plan: BotPlan) {
        (job, settings, catchesUp) = (plan.job, plan.settings, plan.catchesUp)
        rules = Monitor(Rules(current: plan.rules))
    }

    func replaceRules(by version: RuleVersion) {
        rules.with { rules in
            rules.current = version
            rules.replacements += 1
        }
    }

    /// Returns at the end of a one-shot run, or after a graceful shutdown.
    ///
    /// - Throws: ``CommandError``.
    func run() async throws {
        try await job.run { parts in
            while try await !runBot(parts) { await parts.report.reconnect() }
            try await checkPasses(parts.report)
        }
    }

    /// - Returns: True if the bot has ended; false if it must continue with new rules.
    private func runBot(_ parts: Job.Parts) async throws -> Bool {
        let (version, replacements) = rules.quietly { ($0.current, $0.replacements) }
        parts.monitored?.update(version.description)
        let bot = bot(version, parts)
        let part = StoppableService.part(logger: parts.logger) { try await bot.run() }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                await rules.wait { $0.replacements > replacements }
                if !Task.isCancelled { parts.logger.info("switching to new rules") }
                await part.triggerGracefulShutdown()
            }
            defer { tasks.cancelAll() }
            try await part.run()
        }
        // Compares counts, not rules: even if the same rules were restored meanwhile, this `Bot` has ended.
        return Task.isShuttingDownGracefully || rules.quietly(\.replacements) == replacements
    }

    private func bot(_ version: RuleVersion, _ parts: Job.Parts) -> Bot {
        var settings = settings
        settings.delivery = parts.settings
        settings.fixOptions = job.place.lastingOptions.map {
            job.place.reference.knowsRules ? $0 : "\($0) \(version.options)"
        }
        let passes = passLocation
        settings.passes = PassSettings(
            rules: version.source,
            state: StatePlace(passes.catalogue, address: passes.address, ruleSetHash: "", purpose: .run),
            stateOptions: passes.lastingOptions,
            // A gateway in memory has no state from earlier runs, so no rules count as changed.
            catchesUp: catchesUp && !passes.isTemporary)
        return Bot(
            gateway: parts.gateway, ruleSet: version.ruleSet,
            state: parts.state.with(ruleSetHash: version.ruleSet.hash), settings: settings, report: parts.report,
            logger: parts.logger)
    }

    /// The state of passes over all documents.
    private var passLocation: StateLocation { job.place.named("fix-" + job.place.catalogue.name) }

    /// Fails a one-shot run if its passes have created dead letters, so that the exit code reports them.
    private func checkPasses(_ report: RunReport) async throws {
        let count = await report.deadLettersOfPasses
        guard settings.isOneShot, count > 0 else { return }
        let deadLetters = count == 1 ? "a dead letter" : "dead letters"
        let passes = passLocation
        let advice = passes.isTemporary ? "" : "; see them with: changebot dead-letters list \(passes.options)"
        throw CommandError(
            .incomplete,
            "\(Quantity.count(count, "document")) became \(deadLetters) when rules were applied to all documents\(advice)"
        )
    }
}
