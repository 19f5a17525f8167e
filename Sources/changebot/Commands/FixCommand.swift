internal import ArgumentParser
internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import Rules

struct FixCommand: AsyncParsableCommand, RuleCommand {
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
    @OptionGroup var databases: DatabaseOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var trace: TraceOptions

    @Option(help: "Apply only the rule with this name. Can be repeated.")
    var rule: [String] = []

    @Option(help: ArgumentHelp("Only documents that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("Change at most this many documents.", valueName: "n"),
        transform: Count.parse)
    var limit: Count?

    @Flag(
        help:
            "Only let rules with 'changed', enter or leave learn all documents: nothing fires. It uses the bot's state, so stop the bot first."
    )
    var learn = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "With --dry-run: the value of $now in rules, such as 2026-11-20T10:00:00Z. Default: the time of the start.",
            valueName: "time"), transform: PointInTimeArgument.parse)
    var now: PointInTimeArgument?

    func run() async throws {
        let learn = learn
        let environment = try config.environment()
        guard try now == nil || environment.isOn(job.dryRun, "dry-run") else {
            throw CommandError(.usage, "--now requires --dry-run; add --dry-run, or remove --now")
        }
        var plan = try JobPlan(self, environment, try log.logger(environment), namePrefix: learn ? "" : "fix-")
        plan.settings.changeLimit = try environment.value(limit, "limit", parse: Count.init(argument:))?.number
        // By default as the passes of the bot, which use the same state.
        plan.settings.traceDays = try trace.days(environment)
        try setTime(of: &plan.settings, environment)
        let filter = try (selector ?? environment["selector"]).map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        plan.connection.logger.warn(about: filter)
        let ruleSet = try plan.rules.ruleSet(only: environment.values(rule, "rule"), filter: filter)
        if plan.settings.changeLimit != nil, ruleSet.writesNothing {
            plan.connection.logger.warning(
                "no rule changes a document, so the next pass with --limit begins with the same documents")
        }
        if learn, ruleSet.comparing.isEmpty {
            throw CommandError(
                .usage, "--learn needs rules with 'changed', enter or leave, and there are none; remove it")
        }
        let patterns = try databases.choice(environment, plan.connection.choice)
        var job = plan.job(ruleSet)
        if patterns != nil { job.place = job.place.ofManyDatabases }
        job.progress = try progress(environment, plan.settings)
        job.onlyLearns = learn
        try await job.run { [job, name = plan.name] parts in
            if let patterns {
                return try await DatabaseFixer(
                    gateway: parts.gateway, patterns: patterns, ruleSet: ruleSet, name: name,
                    mode: learn ? .learn : .pass, settings: parts.settings, report: parts.report, logger: parts.logger
                ) { name, address in
                    try job.place.of(database: name, address: address)
                        .statePlace(ruleSetHash: ruleSet.hash, for: job.purpose)
                }.run()
            }
            let fixer = Fixer(
                gateway: parts.gateway, ruleSet: ruleSet, state: parts.state, name: name, mode: learn ? .learn : .pass,
                settings: parts.settings, report: parts.report, logger: parts.logger)
            do { try await fixer.run() } catch StateError.locked(let holder) where learn {
                throw Self.learningNeedsTheState(holder)
            }
        } whenDone: { [job] counters in
            guard job.connection.logger.logLevel <= .info else { return }
            RuleTotals(
                counters: counters, rules: learn ? ruleSet.comparing.map(\.name) : ruleSet.names,
                isDryRun: job.settings.preview != nil, onlyLearns: learn
            ).report()
        }
    }

    private static func learningNeedsTheState(_ holder: String) -> CommandError {
        CommandError(
            .temporaryFailure,
            "the bot is running (\(holder.isEmpty ? "in an unknown process" : holder)), and --learn records documents in "
                + "its state: stop the bot first, or restart it once with --catch-up-changed-rules, which lets new and "
                + "edited rules learn all documents")
    }

    /// No progress if a dry run prints documents on the same terminal.
    private func progress(
        _ environment: Environment, _ settings: Delivery.Settings
    ) throws(CommandError) -> ProgressPacing {
        if settings.preview != nil, TerminalStyle.isTerminal(.standardOutput) { return ProgressPacing(.none) }
        return try common.progress(environment, log)
    }

    /// Sets one time for the whole pass, so all documents get the same `$now`.
    private func setTime(of settings: inout Delivery.Settings, _ environment: Environment) throws(CommandError) {
        // Variables apply to all commands, so this one is ignored if documents are written.
        let point =
            settings.preview == nil
            ? nil : try environment.value(now, "now", parse: PointInTimeArgument.init(argument:))
        let start = point?.seconds ?? Timestamp.secondsNow
        settings.now = { start }
    }
}
