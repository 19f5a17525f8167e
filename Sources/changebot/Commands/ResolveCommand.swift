internal import ArgumentParser
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules
internal import Transfer

struct ResolveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resolve",
        abstract: "Resolve conflicts, so that each document has only one leaf revision.",
        discussion: """
            Finds documents with several leaf revisions and resolves them by a policy. To preview the result:

            changebot resolve --gateway http://127.0.0.1:5984/todo --policy merge --dry-run

            POLICY is merge, deletes-win, last-update-wins, winner, set-aside or jq:PROGRAM. TYPE=POLICY applies to \
            documents with this 'type':

            changebot resolve --gateway http://127.0.0.1:5984/todo --policy task=merge --policy winner

            Exit codes: 0 done; 1 some documents are left in conflict; 65 stopped at --max-errors.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Option(help: ArgumentHelp("Only documents whose winning revision matches this Mango selector.", valueName: "json"))
    var selector: String?

    @Flag(help: "Write nothing; print one JSON object for each document in conflict.")
    var dryRun = false

    func run() async throws {
        let environment = try config.environment()
        OpenFiles.raiseLimit()
        let logger = try log.logger(environment)
        let choice = try gateway.choice(environment)
        try choice.requireFile()
        let summary = common.summaryPath(environment)
        var files = DistinctFiles(outputs: [("--summary", summary)])
        files.read(access, choice, environment)
        try files.check()
        if let summary { try OutputFile.check(summary) }
        let settings = try settings(environment)
        logger.warn(about: settings.filter)
        let report = ResolveReport(isDryRun: settings.isDryRun)
        let job = TransferJob(
            options: common, environment: environment, logger: logger, progress: try progress(environment, settings))
        try await job.run(report, limit: settings.errorLimit) { service in
            try await GatewayConnection(choice, for: .resolving, access, environment, logger).with { gateway in
                try await service(
                    Resolver(gateway: gateway, settings: settings, report: report, logger: logger) { line in
                        try Console.write(line)
                    })
            }
        }
    }

    /// No progress if a dry run prints documents on the same terminal.
    private func progress(
        _ environment: Environment, _ settings: ResolveSettings
    ) throws(CommandError) -> ProgressPacing {
        if settings.isDryRun, TerminalStyle.isTerminal(.standardOutput) { return ProgressPacing(.none) }
        return try common.progress(environment, log)
    }

    /// - Throws: ``CommandError`` with 64; `RuleFilesError` if the selector is not valid.
    private func settings(_ environment: Environment) throws -> ResolveSettings {
        let filter = try (selector ?? environment["selector"]).map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        guard let policies = try conflicts.policies(filter, environment) else {
            throw CommandError(
                .usage, "--policy is missing; write \(ConflictPolicy.names.joined(separator: ", ")) or jq:PROGRAM")
        }
        var settings = ResolveSettings(policies: policies)
        settings.filter = filter
        settings.isDryRun = try environment.isOn(dryRun, "dry-run")
        settings.retries = try common.retries(environment)
        settings.errorLimit = try common.errorLimit(environment)
        return settings
    }
}
