internal import BotState
internal import Bots
internal import Delivery
internal import Encodings
internal import Locking
internal import Logging
internal import Monitoring
internal import Rules
internal import ServiceLifecycle

/// One bot of a process, from its first contact to its summary. It keeps connection, report and monitoring, and runs a
/// `Bot` for each version of the rules.
///
/// At new rules the `Bot` stops reading, finishes what the old ones have decided, and saves its checkpoint. The next one
/// goes on from there: no change is missed, and none is decided by some of both.
struct BotHost: Sendable {
    private struct Rules {
        var current: RuleVersion
        /// How often they were replaced.
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

    /// - Returns: Whether the bot has ended, and not only its rules have changed.
    private func runBot(_ parts: Job.Parts) async throws -> Bool {
        let (version, replacements) = rules.quietly { ($0.current, $0.replacements) }
        parts.monitored?.update(version.description)
        let bot = bot(version, parts)
        let part = StoppableService.part(logger: parts.logger) { try await bot.run() }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                await rules.wait { $0.replacements > replacements }
                if !Task.isCancelled { parts.logger.info("changing to new rules") }
                await part.triggerGracefulShutdown()
            }
            defer { tasks.cancelAll() }
            try await part.run()
        }
        // The same rules may have come back meanwhile: the bot has ended all the same.
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
            // The state of a gateway in memory knows no rules from before.
            catchesUp: catchesUp && !passes.isTemporary)
        return Bot(
            gateway: parts.gateway, ruleSet: version.ruleSet,
            state: parts.state.with(ruleSetHash: version.ruleSet.hash), settings: settings, report: parts.report,
            logger: parts.logger)
    }

    /// The state of passes over all documents.
    private var passLocation: StateLocation { job.place.named("fix-" + job.place.catalogue.name) }

    /// The exit code of a one-shot run reports dead letters.
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
