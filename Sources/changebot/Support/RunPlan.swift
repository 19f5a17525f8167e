internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import Encodings
internal import Fleet
internal import GatewayClient
internal import Logging
internal import Monitoring
internal import Outside
internal import Rules

/// What holds for all bots of a process, and can't change while it runs.
struct ProcessPlan: Sendable {
    let monitored: MonitoredProcess
    /// Nil: the process is no service, or ends by itself.
    let notifier: ServiceNotifier?
    let http: HTTPOptions.Choice?
    let memory: MemoryPool
    let grace: Duration
    let onBotFailure: BotFailurePolicy
    let isOneShot: Bool
    /// Whether changes of the files make the process reload them.
    let watchesFiles: Bool
    let logger: Logger
    /// As they stood in the configuration file at the start, by the names of keys.
    let settings: [String: ConfigurationFile.Setting]

    /// - Parameter former: The plan of this process so far, if this is a reload.
    /// - Throws: ``CommandError``.
    fileprivate init(
        _ command: RunCommand, _ environment: Environment, _ file: ConfigurationFile?, _ notifier: ServiceNotifier?,
        continuing former: ProcessPlan?
    ) throws(CommandError) {
        isOneShot = try environment.isOn(command.once, "once")
        self.notifier = isOneShot ? nil : former?.notifier ?? notifier
        logger = try command.log.logger(environment, isDaemon: !isOneShot)
        http = try command.http.choice(environment)
        grace = try command.common.grace(environment)
        watchesFiles = try environment.isOn(command.watch, "watch")
        onBotFailure =
            try environment.value(command.onBotFailure, "on-bot-failure", parse: BotFailurePolicy.init(rawValue:))
            ?? .default
        let memory = try command.job.memoryPool(environment)
        self.memory = former?.memory ?? memory
        monitored = former?.monitored ?? MonitoredProcess(version: Changebot.version)
        settings = file?.processSettings ?? [:]
    }
}

/// What `run` was told to do: the process, and its bots.
struct RunPlan: Sendable {
    let process: ProcessPlan
    /// At least one.
    let bots: [BotPlan]
    /// The configuration file, rule files and folders of them, and what rules attach.
    let files: [String]
    /// The keys of the whole process that the file has changed since the start, in order. They have no effect.
    let changedProcessKeys: [String]

    /// Reads all rules. Blocks.
    ///
    /// - Parameters:
    ///   - written: The configuration file.
    ///   - notifier: Tells systemd what the process does. Nil: no listener.
    ///   - former: The plan of this process so far, if this is a reload.
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ command: RunCommand, _ written: ConfigurationFile?, notifier: ServiceNotifier? = nil,
        continuing former: ProcessPlan? = nil
    ) throws {
        let variables = Environment()
        let file = former.map { written?.with(processSettings: $0.settings) } ?? written
        changedProcessKeys = former.map { written?.processKeys(otherThan: $0.settings) ?? [] } ?? []
        let bots = try file.map { try command.config.bots(of: $0, variables) } ?? []
        if let file, bots.count > 1 { try command.refuseOptionsOfOneBot(file, bots, variables) }
        let process = try ProcessPlan(
            command, file.map { variables.with($0, bot: nil) } ?? variables, file, notifier, continuing: former)
        self.process = process
        // Bots with the same rules read them once.
        var loaded: [[String]: RuleFileSet] = [:]
        if let file {
            self.bots = try bots.map { bot in
                try BotPlan(
                    command, variables.with(file, bot: bot), process, &loaded,
                    Self.signature(bot, isOneOfSeveral: bots.count > 1), file.place(bot.position))
            }
        } else {
            self.bots = [try BotPlan(command, variables, process, &loaded, [:], nil)]
        }
        files = (file.map { [$0.path] } ?? []) + self.bots.flatMap(\.rules.files)
        try checkApart()
        try checkFleets()
    }

    /// Checks that no two bots have the same state in an engine.
    ///
    /// - Throws: ``CommandError`` with 78.
    private func checkFleets() throws(CommandError) {
        var owners: [String: String] = [:]
        for bot in bots {
            guard let fleet = bot.fleet, let other = owners.updateValue(bot.title, forKey: fleet) else { continue }
            throw CommandError(
                .badConfiguration,
                "the bots '\(other)' and '\(bot.title)' have the same fleet: give each its own 'fleet'")
        }
    }

    /// Checks that no two bots write the same file.
    ///
    /// - Throws: ``CommandError`` with 64 or 78.
    private func checkApart() throws(CommandError) {
        var owners: [String: String] = [:]
        for bot in bots {
            if let other = bot.embeddedFile.flatMap({ owners.updateValue(bot.name, forKey: $0) }) {
                throw CommandError(
                    .badConfiguration,
                    "the bots '\(other)' and '\(bot.name)' would open the same file of an embedded gateway: run 'changebot gateway --data FILE', and give both its URL"
                )
            }
        }
        try DistinctFiles.check(bots.map { ("summary of \($0.name)", $0.summary) })
    }

    /// What a bot must be restarted for, if it changes. Other rules are taken while it runs. Log lines name the bot if
    /// it is one of several.
    private static func signature(_ bot: ConfigurationFile.Bot, isOneOfSeveral: Bool) -> [String: [String]] {
        var signature = bot.settings.filter { key, _ in
            key != "rules" && SettingKey.named(key)?.scope == .bot
        }.mapValues(\.texts)
        if isOneOfSeveral { signature["bots"] = [] }
        return signature
    }

    /// The configuration file and the paths of rules that are named, even if something in them is not valid. Blocks.
    static func namedFiles(_ command: RunCommand) -> [String] {
        ownFiles(command) + namedFiles(in: try? command.config.file(Environment()))
    }

    /// Those of them that options and variables name.
    static func ownFiles(_ command: RunCommand) -> [String] {
        let variables = Environment()
        let path = command.config.config ?? variables["config"]
        return (path.map { [$0] } ?? []) + (variables.values(command.job.rules, "rules") ?? [])
    }

    /// Those of them that the configuration file names.
    static func namedFiles(in file: ConfigurationFile?) -> [String] {
        file?.bots.flatMap { $0.settings["rules"]?.texts ?? [] } ?? []
    }
}

/// What to do with the other bots of a process when one fails (`--on-bot-failure`).
enum BotFailurePolicy: String, CaseIterable {
    case `continue`, stop

    static let `default` = BotFailurePolicy.continue
}

/// One bot, as `run` was told to run it.
struct BotPlan: Sendable {
    let name: String
    /// What it must be restarted for.
    let signature: [String: [String]]
    let settings: BotSettings
    let rules: RuleVersion
    let job: Job
    /// The file of its embedded gateway; nil if it has none.
    let embeddedFile: String?
    /// What tells its state in an engine from others; nil without one.
    let fleet: String?
    /// Its name in the configuration file.
    let title: String
    let summary: String?
    /// For passes over all documents; nil in a dry run, which has none.
    let passes: PassPlan?

    /// - Parameters:
    ///   - command: The options of `run`.
    ///   - environment: Its variables, and the settings of the bot in the file.
    ///   - process: What holds for all bots.
    ///   - loaded: The rules that other bots have read already, by their paths.
    ///   - signature: What it must be restarted for.
    ///   - place: Where the bot stands in the configuration file; nil without one.
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ command: RunCommand, _ environment: Environment, _ process: ProcessPlan,
        _ loaded: inout [[String]: RuleFileSet], _ signature: [String: [String]], _ place: String?
    ) throws {
        name = try command.state.botName(environment)
        self.signature = signature
        if let place { try command.requireGatewayAndRules(environment, place) }
        var logger = process.logger
        if signature["bots"] != nil { logger[metadataKey: "bot"] = "\(name)" }
        let paths = try command.job.rulePaths(environment)
        let settings = try command.botSettings(environment, name, process)
        let choice = try command.gateway.choice(environment)
        embeddedFile = if case .embedded(_?) = choice { choice.stateAddress } else { nil }
        summary = command.common.summaryPath(environment)
        let directory = command.state.directory(environment)
        let files = try command.job.loadRules(
            paths, command.common, command.access, choice, state: directory, environment, logger
        ) { paths in try loaded[paths] ?? RuleFileSet.load(paths: paths) }
        loaded[paths] = files
        rules = try RuleVersion(files, paths: paths)
        let catchesUp = try environment.isOn(command.catchUpChangedRules, "catch-up-changed-rules")
        if settings.sharing != nil { try Sharing.check(catchesUp: catchesUp) }
        // A reload that lacks a file leaves the bot as it is.
        if settings.delivery.preview == nil { try files.checkOutsideFiles(logger) }
        let engine = try command.state.engine(environment)
        fleet = engine.map(\.description)
        title = environment["name"] ?? name
        let reference = command.state.reference(
            environment, gateway: command.gateway.address, rules: command.job.rules)
        let location = StateLocation(
            choice: choice, directory: directory, name, engine: engine, reference: reference)
        var job = Job(
            options: command.common, access: command.access, environment: environment, logger: logger,
            ruleSetHash: rules.ruleSet.hash, place: location, choice: choice, settings: settings.delivery,
            isOneShot: settings.isOneShot, fileUse: .following(isDryRun: settings.delivery.preview != nil))
        job.isPartOfService = true
        job.monitoring = RunMonitoring(
            process: process.monitored, isServed: process.http != nil,
            showsDocuments: process.http?.showsDocuments == true,
            bot: BotDescription(
                name: name, gateway: choice.stateAddress, stateOptions: location.lastingOptions,
                findsRules: reference.knowsRules, rules: rules.description),
            isInFleet: engine != nil && settings.delivery.preview == nil && !settings.isOneShot,
            statusDirectory: location.isTemporary || settings.delivery.preview != nil
                ? nil : location.catalogue.directory,
            notifier: process.notifier, longestFeed: settings.following.longestSilence, logger: logger)
        self.job = job
        self.settings = settings
        // The state of a gateway in memory knows no rules from before.
        passes =
            settings.delivery.preview == nil
            ? PassPlan(
                state: StateLocation(
                    choice: choice, directory: directory, "fix-" + name, engine: engine, reference: reference),
                catchesUp: catchesUp && !location.isTemporary) : nil
    }
}

/// How the rules of a bot are applied to all documents while it runs.
struct PassPlan: Sendable {
    /// The state of all passes.
    let state: StateLocation
    /// Whether changed rules are (`--catch-up-changed-rules`). Scheduled ones always are.
    let catchesUp: Bool
}

/// Rules that were read together.
struct RuleVersion: Sendable {
    let source: RuleFileSet
    /// The rules for changes.
    let ruleSet: RuleSet
    /// The rules of files with `every`.
    let scheduled: [ScheduledRules]
    /// As given.
    let paths: [String]
    /// Different if anything about the rules is.
    let fingerprint: String

    /// - Throws: `RuleFilesError`.
    init(_ source: RuleFileSet, paths: [String]) throws {
        self.source = source
        self.paths = paths
        ruleSet = try source.ruleSet(isForChanges: true)
        scheduled = source.scheduled
        var parts = [ruleSet.hash]
        for scheduled in scheduled {
            parts += [scheduled.schedule.line, scheduled.schedule.zone, try source.ruleSet(only: scheduled.names).hash]
        }
        fingerprint = parts.joined(separator: " ")
    }

    var description: RuleSetDescription {
        RuleSetDescription(
            hash: ruleSet.hash, names: ruleSet.names, paths: paths, absolutePaths: paths.map(\.absolutePath))
    }
}

extension RuleVersion {
    /// The options with which other commands read the same rules.
    var options: String { "--rules \(paths.map(\.absolutePath.shellWord).joined(separator: " "))" }

    /// The paths, and the files that the rules attach.
    var files: [String] { paths + source.attached.files }
}

extension RunCommand {
    fileprivate func botSettings(
        _ environment: Environment, _ name: String, _ process: ProcessPlan
    ) throws(CommandError) -> BotSettings {
        var settings = BotSettings()
        settings.isOneShot = process.isOneShot
        settings.since = try environment.value(since, "since", parse: StartArgument.init(argument:))?.start
        settings.name = name
        settings.following =
            try environment.value(feed, "feed", parse: FeedReader.Following.init(rawValue:)) ?? settings.following
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        settings.onReset =
            try environment.value(onReset, "on-reset", parse: ResetPolicy.init(rawValue:)) ?? settings.onReset
        settings.delivery = try job.deliverySettings(
            common, environment, memory: process.memory, isDaemon: !settings.isOneShot)
        let hasEngine = state.engineOptions.engine ?? environment["engine"] != nil
        settings.sharing = try Self.sharing(
            role: role, partitions: partitions, hasEngine: hasEngine, environment,
            isDaemon: !settings.isOneShot && settings.delivery.preview == nil)
        return settings
    }

    /// How a bot shares the work. Nil: it does not.
    ///
    /// - Throws: ``CommandError`` with 64 or 78.
    static func sharing(
        role: FleetMember.Role?, partitions: Int?, hasEngine: Bool, _ environment: Environment, isDaemon: Bool = true
    ) throws(CommandError) -> Sharing? {
        let (isFlag, flag) = (role != nil, role)
        func naming(_ option: String, isFlag: Bool) -> String { isFlag ? "--\(option)" : environment.naming(option) }
        let number = try environment.value(partitions, "partitions", parse: { Int($0) })
        guard let role = try environment.value(flag, "role", parse: FleetMember.Role.init(rawValue:)) else {
            guard number == nil else {
                throw environment.contradiction(
                    ["partitions"],
                    "\(naming("partitions", isFlag: partitions != nil)) is for members that share the work: add --role auto, or leave it out"
                )
            }
            return nil
        }
        guard hasEngine else {
            throw environment.contradiction(
                ["role"],
                "\(naming("role", isFlag: isFlag)) is for members that share a PostgreSQL: add --engine postgres://…, or leave it out"
            )
        }
        guard isDaemon else {
            throw environment.contradiction(
                ["role"],
                "\(naming("role", isFlag: isFlag)) is for members that stay: leave --once and --dry-run out")
        }
        return try environment.checking("partitions", isFlag: partitions != nil) { () throws(CommandError) in
            let number = number ?? Sharing.defaultPartitions
            guard (1...1024).contains(number) else {
                throw CommandError(.usage, "--partitions must be from 1 to 1024")
            }
            return Sharing(role: role, partitions: number)
        }
    }

    /// - Throws: ``CommandError`` with 78 if the bot at `place` has no gateway or no rules.
    fileprivate func requireGatewayAndRules(_ environment: Environment, _ place: String) throws(CommandError) {
        if gateway.address == nil, environment["gateway"] == nil {
            throw CommandError(
                .badConfiguration, listing: ["\(place): the bot has no 'gateway'; write the URL of its keyspace"])
        }
        if job.rules.isEmpty, environment["rules"] == nil {
            throw CommandError(
                .badConfiguration, listing: ["\(place): the bot has no 'rules'; write the path of a file or a folder"])
        }
    }

    /// Refuses options and variables that would apply to all bots of a file, although they are of one.
    ///
    /// - Throws: ``CommandError`` with 64.
    func refuseOptionsOfOneBot(
        _ file: ConfigurationFile, _ bots: [ConfigurationFile.Bot], _ variables: Environment
    ) throws(CommandError) {
        let flags: [(option: String, isGiven: Bool)] = [
            ("gateway", gateway.address != nil), ("rules", !job.rules.isEmpty), ("name", state.name != nil),
            ("summary", common.summary != nil), ("since", since != nil), ("channels", channels != nil),
        ]
        for (option, isGiven) in flags where isGiven || variables[option] != nil {
            let name = isGiven ? "--\(option)" : Environment.variable(of: option)
            throw CommandError(
                .usage,
                "\(name) would apply to all \(bots.count) bots of \(file.path): choose one with --bot, or leave it out")
        }
    }
}
