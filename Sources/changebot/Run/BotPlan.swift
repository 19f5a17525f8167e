internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Monitoring
internal import Outside
internal import Rules

/// The configuration with which `run` runs one bot.
struct BotPlan: Sendable {
    /// The settings that require a restart of the bot if they change.
    let signature: [String: [String]]
    let settings: BotSettings
    let rules: RuleVersion
    let job: Job
    /// Its name in the configuration file.
    let title: String
    /// The bot's place in the configuration file, `FILE:LINE:COLUMN`; nil without a file.
    let place: String?
    /// Identifies the bot's state in an engine; nil without an engine.
    let fleet: String?
    /// Whether new and changed rules are applied to all documents (`--catch-up-changed-rules`).
    let catchesUp: Bool
    /// The databases that the bot follows. Nil: one.
    let databases: DatabasePatterns?

    var name: String { settings.name }

    /// The file of its embedded gateway; nil if it has none.
    var embeddedFile: String? {
        if case .embedded(_?) = job.connection.choice { job.place.address } else { nil }
    }

    /// - Parameters:
    ///   - command: The options of `run`.
    ///   - environment: Its variables, and the settings of the bot in the file.
    ///   - process: The settings of the whole process.
    ///   - loaded: The rules that were already read for other bots, by their paths.
    ///   - signature: The settings that require a restart of the bot if they change.
    ///   - place: See ``place``.
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ command: RunCommand, _ environment: Environment, _ process: ProcessPlan,
        _ loaded: inout [[String]: RuleFileSet], _ signature: [String: [String]], _ place: String?
    ) throws {
        let name = try command.state.botName(environment)
        if let place { try command.requireGatewayAndRules(environment, place) }
        var logger = process.logger
        if signature["bots"] != nil { logger[metadataKey: "bot"] = "\(name)" }
        let settings = try command.botSettings(environment, name, process)
        var plan = try JobPlan(command, environment, logger, partOf: process) { [loaded] paths in
            try loaded[paths] ?? RuleFileSet.load(paths: paths)
        }
        loaded[plan.paths] = plan.rules
        rules = try RuleVersion(plan.rules, paths: plan.paths)
        catchesUp = try environment.isOn(command.following.catchUpChangedRules, "catch-up-changed-rules")
        databases = try command.databases.choice(environment, plan.connection.choice)
        if databases != nil { try command.checkOptions(ofManyDatabases: environment, settings, catchesUp: catchesUp) }
        if settings.fleet.sharing != nil { try Sharing.check(catchesUp: catchesUp) }
        // If a file is missing, a reload fails here and leaves the running bot unchanged.
        if plan.settings.preview == nil { try plan.rules.checkOutsideFiles(logger) }
        fleet = try command.state.engine(environment)?.description
        title = environment["name"] ?? name
        plan.settings.traceDays = try command.trace.days(environment) ?? 0
        var job = plan.job(rules.ruleSet, isOneShot: settings.isOneShot)
        job.grace = nil
        if databases != nil { job.place = job.place.ofManyDatabases }
        job.monitoring = RunMonitoring(
            of: plan, rules.description, isInFleet: fleet != nil, settings.feed.following, process,
            hasManyDatabases: databases != nil)
        (self.signature, self.settings, self.job, self.place) = (signature, settings, job, place)
    }
}

extension RunMonitoring {
    fileprivate init(
        of plan: JobPlan, _ rules: RuleSetDescription, isInFleet: Bool, _ following: FeedReader.FeedMode,
        _ process: ProcessPlan, hasManyDatabases: Bool
    ) {
        let place = hasManyDatabases ? plan.place.ofManyDatabases : plan.place
        let isDryRun = plan.settings.preview != nil
        self.init(
            process: process,
            bot: BotDescription(
                name: plan.name, gateway: place.address, stateOptions: place.lastingOptions,
                findsRules: place.reference.knowsRules, rules: rules),
            isInFleet: isInFleet && !isDryRun && !process.isOneShot,
            statusDirectory: place.isTemporary || isDryRun ? nil : place.catalogue.directory,
            maxFeedTime: following.maxSilence, logger: plan.connection.logger)
        self.hasManyDatabases = hasManyDatabases
    }
}

// MARK: - Options

extension RunCommand: RuleCommand {
    /// All settings except those for delivery: see ``JobPlan/settings``.
    fileprivate func botSettings(
        _ environment: Environment, _ name: String, _ process: ProcessPlan
    ) throws(CommandError) -> BotSettings {
        var settings = BotSettings()
        settings.isOneShot = process.isOneShot
        settings.name = name
        settings.feed = try following.feedSettings(environment)
        settings.onReset = try environment.value(following.onReset, "on-reset", parse: ResetPolicy.init(rawValue:))
        let isDryRun = try environment.isOn(job.dryRun, "dry-run")
        settings.fleet.sharing = try Sharing.chosen(
            following.role, following.partitions,
            hasEngine: state.engine ?? environment["engine"] != nil,
            environment, isDaemon: !process.isOneShot && !isDryRun)
        return settings
    }

    /// Refuses what makes no sense for many databases.
    ///
    /// - Throws: ``CommandError`` with 64 or 78.
    fileprivate func checkOptions(
        ofManyDatabases environment: Environment, _ settings: BotSettings, catchesUp: Bool
    ) throws(CommandError) {
        if case .sequence = settings.feed.since {
            throw environment.contradiction(
                ["since"], "a sequence belongs to one database: with many databases, --since must be 0 or now")
        }
        if catchesUp {
            throw environment.contradiction(
                ["catch-up-changed-rules"],
                "--catch-up-changed-rules does not work with many databases: remove it, and run 'changebot fix' after changing rules"
            )
        }
        if settings.fleet.sharing != nil {
            throw environment.contradiction(
                ["role"],
                "with many databases, the members of a fleet share the databases, not the changes of one: remove \(following.role == nil ? environment.naming("role") : "--role")"
            )
        }
    }

    /// - Throws: ``CommandError`` with 78 if the bot at `place` has no gateway or no rules.
    fileprivate func requireGatewayAndRules(_ environment: Environment, _ place: String) throws(CommandError) {
        var missing: [String] = []
        if gateway.address == nil, environment["gateway"] == nil {
            missing.append("\(place): the bot has no 'gateway'; write the URL of its keyspace")
        }
        if job.rules.isEmpty, environment["rules"] == nil {
            missing.append("\(place): the bot has no 'rules'; write the path of a file or a folder")
        }
        guard missing.isEmpty else { throw CommandError(.badConfiguration, listing: missing) }
    }

    /// Refuses per-bot options and variables that would apply to all bots of a file.
    ///
    /// - Throws: ``CommandError`` with 64.
    func refuseOptionsOfOneBot(
        _ file: ConfigurationFile, _ bots: [ConfigurationFile.Bot], _ variables: Environment
    ) throws(CommandError) {
        let flags: [(option: String, isGiven: Bool)] = [
            ("gateway", gateway.address != nil), ("databases", databases.databases != nil),
            ("collections", databases.collections != nil), ("rules", !job.rules.isEmpty), ("name", state.name != nil),
            ("summary", common.summary != nil), ("since", following.since != nil),
            ("channels", following.channels != nil),
        ]
        for (option, isGiven) in flags where isGiven || variables[option] != nil {
            let name = isGiven ? "--\(option)" : Environment.variable(of: option)
            throw CommandError(
                .usage,
                "\(name) would apply to all \(bots.count) bots of \(file.path): choose one with --bot, or leave it out")
        }
    }
}
