internal import ArgumentParser
internal import GatewayClient
internal import Logging
internal import Rules
internal import ServiceLifecycle
internal import Transfer

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Write the documents of a file into a keyspace.",
        discussion: """
            Reads NDJSON, a JSON array, CSV or MongoDB Extended JSON, plain or gzip-compressed:

            changebot import --gateway http://127.0.0.1:4985/todo todo.ndjson.gz --attachments files
            changebot import --gateway http://127.0.0.1:4985/todo items.json --map rules/maps/atlas-item.yaml \\
                --schema todo --reject rejected.ndjson

            To restore a database as it was at a time, from a full export and its increments:

            changebot import --gateway http://127.0.0.1:4985/restored full.ndjson.gz mon.ndjson.gz tue.ndjson.gz \\
                --at 2026-11-24

            To preview what it would do:

            changebot import --gateway http://127.0.0.1:4985/todo todo.ndjson --mode upsert --dry-run

            Exit codes: 0 done; 1 some documents were rejected; 65 the input is truncated, or stopped at --max-errors.
            """)

    @Argument(
        help: ArgumentHelp(
            "The file to import, or - for stdin; or a full export and its increments, in any order.", valueName: "file"),
        completion: .file())
    var files: [String]

    @Option(
        help: ArgumentHelp(
            "Of a full export and its increments, only those that were complete at this time, or up to the one with this manifest. Default: all.",
            valueName: "time-or-manifest"))
    var at: String?

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var input: InputOptions
    @OptionGroup var choices: ImportOptions
    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var slurps: SlurpOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = try config.environment()
        let logger = try log.logger(environment)
        let choice = try gateway.choice(environment)
        let summary = common.summaryPath(environment)
        var files = DistinctFiles(outputs: [("--summary", summary)])
        files.read(access, choice, environment)
        files.inputs += slurps.files(environment).map { ("--slurp", $0) }
        let source = try ImportSource(self.files, at: at)
        var settings = try choices.settings(for: source, input, conflicts, files, environment)
        logger.warn(about: settings.filter)
        if let summary { try OutputFile.check(summary) }
        if settings.progressPath == nil, settings.preview == nil, source.canBeReadAgain {
            logger.warning(
                "can't record progress next to the input: an interrupted import starts over; to prevent that, name a file with --progress-file"
            )
        }
        settings.retries = try common.retries(environment)
        settings.errorLimit = try common.errorLimit(environment)
        let job = TransferJob(
            options: common, environment: environment, logger: logger,
            progress: try common.progress(environment, log))
        let isDryRun = settings.preview != nil
        let report = ImportReport(rejectPath: isDryRun ? nil : settings.rejectPath, isDryRun: isDryRun)
        try await job.run(report, limit: settings.errorLimit) { [settings, choices, slurps, access] service in
            let checked = CheckedImport(settings: settings, source: source, report: report, logger: logger) {
                try await choices.mapping(environment, slurps)
            } start: { settings, inputs in
                try await GatewayConnection(choice, for: .importing(isDryRun: isDryRun), access, environment, logger)
                    .with { gateway in
                        try await Importer(
                            gateway: gateway, settings: settings, inputs: inputs, report: report, logger: logger
                        ).run()
                    }
            }
            try await service(checked)
        }
    }
}

/// Merges the exports if there are several, reads the mapping, and checks the input before the import creates anything. All of it is one service, so a signal
/// stops each step.
private struct CheckedImport: Service {
    let settings: ImportSettings
    let source: ImportSource
    let report: ImportReport
    let logger: Logger
    let mapping: @Sendable () async throws -> Mapping?
    let start: @Sendable (ImportSettings, ImportInputs) async throws -> Void

    func run() async throws {
        var settings = settings
        let inputs: ImportInputs
        defer { source.cleanUp(settings) }
        do {
            try await source.prepare(isResuming: settings.isResuming, logger)
            settings.mapping = try await mapping()
            inputs = try await ImportInputs.check(settings)
        } catch is CancellationError {
            return report.logStop(settings, to: logger)
        }
        try await start(settings, inputs)
    }
}
