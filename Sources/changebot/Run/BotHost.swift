internal import BotState
internal import Bots
internal import Delivery
internal import Encodings
internal import GatewayClient
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
    private let databases: DatabasePatterns?
    private let rules: Monitor<Rules>

    init(_ plan: BotPlan) {
        (job, settings, catchesUp, databases) = (plan.job, plan.settings, plan.catchesUp, plan.databases)
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
        let work = try work(version, parts)
        let part = StoppableService.part(logger: parts.logger, work)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                await rules.wait { $0.replacements > replacements }
                let isSame = rules.quietly(\.current.fingerprint) == version.fingerprint
                if !Task.isCancelled {
                    parts.logger.info(isSame ? "taking up an order about rules" : "switching to new rules")
                }
                await part.triggerGracefulShutdown()
            }
            defer { tasks.cancelAll() }
            try await part.run()
        }
        // Compares counts, not rules: even if the same rules were restored meanwhile, this `Bot` has ended.
        return Task.isShuttingDownGracefully || rules.quietly(\.replacements) == replacements
    }

    private func work(_ version: RuleVersion, _ parts: Job.Parts) throws -> StoppableService.Work {
        guard let databases else {
            let bot = bot(version, parts)
            return { try await bot.run() }
        }
        return try work(on: databases, version, parts)
    }

    /// The work on many databases. Each has its state in a folder of its name.
    private func work(
        on databases: DatabasePatterns, _ version: RuleVersion, _ parts: Job.Parts
    ) throws -> StoppableService.Work {
        var settings = settings
        settings.delivery = parts.settings
        let catalogue = job.place.catalogue
        return { [settings, job] in
            let index = try Self.index(catalogue, isDryRun: settings.delivery.isDryRun)
            defer { index.close() }
            var groupSettings = DatabaseGroup.Settings()
            groupSettings.whenQuiet = Memory.giveBack
            if databases.kind == .collections, catalogue.engine == nil {
                groupSettings.maxActive = DatabaseGroup.Settings.maxActiveCollections
            }
            let group = DatabaseGroup(
                directory: parts.gateway.directory(for: databases), patterns: databases, ruleSet: version.ruleSet,
                index: index, bot: settings, settings: groupSettings, report: parts.report, logger: parts.logger
            ) { name, address in
                let place = job.place.of(database: name, address: address)
                return DatabaseGroup.Place(
                    state: try place.statePlace(ruleSetHash: version.ruleSet.hash, for: job.purpose),
                    passes: passes(version, place), options: place.lastingOptions)
            }
            try await group.run()
        }
    }

    /// In a fleet, several processes may have the same folder. All but the first one begin with a copy of its index.
    private static func index(_ catalogue: StateCatalogue, isDryRun: Bool) throws(StateError) -> DatabaseIndex {
        func copy() throws(StateError) -> DatabaseIndex {
            try DatabaseIndex(inMemoryFor: catalogue.directory, name: catalogue.name, copying: true)
        }
        guard !isDryRun else { return try copy() }
        do throws(StateError) { return try DatabaseIndex(directory: catalogue.directory, name: catalogue.name) } catch {
            guard case .locked = error, catalogue.engine != nil else { throw error }
            return try copy()
        }
    }

    private func bot(_ version: RuleVersion, _ parts: Job.Parts) -> Bot {
        var settings = settings
        settings.delivery = parts.settings
        // As for new rules: changes that the bot has decided by now are finished first.
        settings.restart = { rules.with { $0.replacements += 1 } }
        settings.fixOptions = job.place.lastingOptions.map {
            job.place.reference.knowsRules ? $0 : "\($0) \(version.options)"
        }
        settings.passes = passes(version, job.place)
        return Bot(
            gateway: parts.gateway, ruleSet: version.ruleSet,
            state: parts.state.with(ruleSetHash: version.ruleSet.hash), settings: settings, report: parts.report,
            logger: parts.logger)
    }

    /// The passes over all documents of the database with this state.
    private func passes(_ version: RuleVersion, _ place: StateLocation) -> PassSettings {
        let passes = place.ofPasses
        return PassSettings(
            rules: version.source,
            state: StatePlace(passes.catalogue, address: passes.address, ruleSetHash: "", purpose: .run),
            stateOptions: passes.lastingOptions,
            // A gateway in memory has no state from earlier runs, so no rules count as changed.
            catchesUp: catchesUp && !passes.isTemporary)
    }

    /// Fails a one-shot run if its passes have created dead letters, so that the exit code reports them.
    private func checkPasses(_ report: RunReport) async throws {
        let count = await report.deadLettersOfPasses
        guard settings.isOneShot, count > 0 else { return }
        let deadLetters = count == 1 ? "a dead letter" : "dead letters"
        let passes = job.place.ofPasses
        let advice = passes.isTemporary ? "" : "; see them with: changebot dead-letters list \(passes.options)"
        throw CommandError(
            .incomplete,
            "\(Quantity.count(count, "document")) became \(deadLetters) when rules were applied to all documents\(advice)"
        )
    }
}
