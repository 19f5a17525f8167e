internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import Pipeline
internal import Rules

struct FixCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fix",
        abstract: "Apply rules to every document of a keyspace, once.",
        discussion: """
            Preview the changes, then make them:

            changebot fix --gateway http://127.0.0.1:4985/todo --rules rules/fixups.yaml --dry-run
            changebot fix --gateway http://127.0.0.1:4985/todo --rules rules/fixups.yaml
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Option(help: "Apply only the rule with this name. Can be repeated.")
    var rule: [String] = []

    @Option(help: ArgumentHelp("Only documents that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Change at most this many documents.", valueName: "n"),
        transform: Count.parse)
    var limit: Count?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --dry-run: the time that rules know as $now, such as 2026-11-20T10:00:00Z. Default: the time of the start.",
            valueName: "time"), transform: PointInTimeArgument.parse)
    var now: PointInTimeArgument?

    func run() async throws {
        let environment = try config.environment()
        let paths = try job.rulePaths(environment)
        let logger = try log.logger(environment)
        let settings = try deliverySettings(environment)
        let choice = try gateway.choice(environment)
        let name = "fix-" + (try state.botName(environment))
        let files = try job.loadRules(
            paths, common, access, choice, state: state.directory(environment), environment, logger)
        let place = StateLocation(choice: choice, directory: state.directory(environment), name)
        let filter = try (selector ?? environment["selector"]).map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        let ruleSet = try files.ruleSet(only: environment.values(rule, "rule"), filter: filter)
        let job = Job(
            options: common, access: access, environment: environment, logger: logger, ruleSetHash: ruleSet.hash,
            place: place,
            choice: choice, settings: settings, isOneShot: true, progress: try progress(environment, settings))
        try await job.run { parts in
            Fixer(
                gateway: parts.gateway, ruleSet: ruleSet, state: parts.state, name: name,
                settings: parts.settings, report: parts.report, logger: parts.logger)
        } whenDone: { counters in
            guard logger.logLevel <= .info else { return }
            let totals = RuleTotals(counters: counters, rules: ruleSet.names, isDryRun: settings.preview != nil)
            totals.report()
        }
    }

    /// Shows no progress while a dry run prints documents on the same terminal.
    private func progress(
        _ environment: Environment, _ settings: Delivery.Settings
    ) throws(CommandError) -> ProgressPacing {
        if settings.preview != nil, TerminalStyle.isTerminal(.standardOutput) { return ProgressPacing(.none) }
        return try common.progress(environment, log)
    }

    private func deliverySettings(_ environment: Environment) throws(CommandError) -> Delivery.Settings {
        var settings = try job.deliverySettings(
            common, environment, memory: job.memoryPool(environment), isDaemon: false)
        settings.savesCheckpoint = false
        settings.changeLimit = try environment.value(limit, "limit", parse: Count.init(argument:))?.number
        guard settings.preview != nil || now == nil else {
            throw CommandError(.usage, "--now requires --dry-run; without it, leave --now out")
        }
        // A variable is set for all commands. It is ignored if documents are written.
        let point =
            settings.preview == nil
            ? nil : try environment.value(now, "now", parse: PointInTimeArgument.init(argument:))
        // One time for the whole pass, so that all documents get the same `$now`.
        let start = point?.seconds ?? Timestamp.secondsNow
        settings.now = { start }
        return settings
    }
}
