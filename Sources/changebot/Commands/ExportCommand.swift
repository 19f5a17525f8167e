internal import ArgumentParser
internal import GatewayClient
internal import Logging
internal import Pipeline
internal import Rules
internal import Transfer

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the documents of a keyspace to a file.",
        discussion: """
            Every document a line, as the gateway sends it, and a manifest beside the file:

            changebot export --gateway http://127.0.0.1:4985/todo --output todo.ndjson.gz --attachments files
            changebot verify todo.ndjson.gz

            What has changed since then:

            changebot export --gateway http://127.0.0.1:4985/todo --output monday.ndjson \\
                --since-manifest todo.ndjson.gz.manifest.json
            """)

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Option(
        help: ArgumentHelp("A file, packed if its name ends in .gz, or - for stdout. Default: -.", valueName: "file"))
    var output: String?

    @Option(help: "ndjson, json (one array) or csv. Default: as the file is named, else ndjson.")
    var format: ExportSettings.Format?

    @Option(
        help: ArgumentHelp(
            "The bytes of attachments: none, inline (base64 in the documents), or a folder for files named after their SHA-256. Default: none.",
            valueName: "none|inline|dir"))
    var attachments: String?

    @Option(help: ArgumentHelp("Only documents that this Mango selector matches.", valueName: "json"))
    var selector: String?

    @Option(help: "Only what is in these channels: a,b (Sync Gateway).")
    var channels: String?

    @Option(help: ArgumentHelp("Only what has changed since then, deletions too.", valueName: "seq"))
    var since: String?

    @Option(help: ArgumentHelp("The same, since the export that this manifest belongs to.", valueName: "file"))
    var sinceManifest: String?

    @Flag(
        help: "All leaf revisions with their histories, deleted ones too: import --mode restore makes the same of it.")
    var revisions = false

    @Flag(help: "Go on where an interrupted export to the same file ended.")
    var resume = false

    func run() async throws {
        do { try await start(Environment()) } catch let error as TransferError { throw CommandFailure(error) } catch {
            throw CommandFailure(error)
        }
    }

    private func start(_ environment: Environment) async throws {
        // Within a document each attachment is an open file until it is written.
        OpenFiles.raiseLimit()
        let logger = try log.logger(environment)
        let place = ExportPlace(path(environment))
        try checkFiles(place, environment)
        let settings = try settings(environment)
        guard !settings.isResuming || place.canResume else {
            throw CommandFailure(
                .usage, "--resume: what goes to stdout or a pipe can't be gone on with; give --output FILE")
        }
        let report = ExportReport()
        let choice = try gateway.choice(environment)
        let job = TransferJob(
            options: common, environment: environment, logger: logger,
            progress: try common.progress(environment, log))
        try await job.run(report, limit: settings.errorLimit) { service in
            try await GatewayConnection.with(choice, options: gateway, environment: environment, logger: logger) {
                gateway in
                try await service(
                    Exporter(gateway: gateway, settings: settings, place: place, report: report, logger: logger))
            }
        }
    }

    private func path(_ environment: Environment) -> String { output ?? environment["output"] ?? "-" }

    /// - Throws: ``CommandFailure`` with 64 if the summary would overwrite the export, or the export what it goes on
    ///   from; with 73 if the summary can't be written.
    private func checkFiles(_ place: ExportPlace, _ environment: Environment) throws(CommandFailure) {
        let summary = common.summaryPath(environment)
        let given = (name: "--since-manifest", path: sinceManifest ?? environment["since-manifest"])
        let files = [("--output", Optional(place.path))] + place.temporaryFiles.map { ("the unfinished --output", $0) }
        let manifest = place.canResume ? place.manifest : nil
        try DistinctFiles.check(files + [("the manifest of --output", manifest), ("--summary", summary)])
        try DistinctFiles.check(files + [given])
        try DistinctFiles.check([given, ("--summary", summary)])
        if let summary { try OutputFile.check(summary) }
    }

    /// - Throws: ``CommandFailure`` with 64; `RuleFilesError` for a selector that is none.
    private func settings(_ environment: Environment) throws -> ExportSettings {
        var settings = ExportSettings()
        settings.tool = "changebot \(Changebot.version)"
        let named = InputFormat(fileName: path(environment)).flatMap { ExportSettings.Format(rawValue: $0.rawValue) }
        settings.format =
            try environment.value(format, "format", parse: ExportSettings.Format.init(rawValue:)) ?? named ?? .ndjson
        switch attachments ?? environment["attachments"] {
        case nil, "none": settings.attachments = .none
        case "": throw CommandFailure(.usage, "--attachments: the folder's name is empty")
        case "inline": settings.attachments = .inline
        case let folder?: settings.attachments = .folder(folder)
        }
        settings.selector = selector ?? environment["selector"]
        settings.filter = try settings.selector.map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        settings.channels = (channels ?? environment["channels"])?.split(separator: ",").map(String.init)
        settings.since = try start(environment)
        settings.includesRevisions = try environment.isOn(revisions, "revisions")
        settings.isResuming = try environment.isOn(resume, "resume")
        settings.patience = try common.patience(environment)
        settings.errorLimit = try common.errorLimit(environment)
        guard settings.format != .csv || !settings.includesRevisions else {
            throw CommandFailure(.usage, "--revisions: a table has no place for histories; leave --format csv out")
        }
        return settings
    }

    private func start(_ environment: Environment) throws(CommandFailure) -> ExportSettings.Start? {
        let sequence = since ?? environment["since"]
        let manifest = sinceManifest ?? environment["since-manifest"]
        guard sequence == nil || manifest == nil else {
            throw CommandFailure(.usage, "--since and --since-manifest say two things: take one away")
        }
        if let manifest { return .manifest(manifest) }
        guard let sequence else { return nil }
        guard let id = SequenceID(sequence), sequence != "now" else {
            throw CommandFailure(.usage, "--since '\(sequence)' is no sequence; write one as the gateway does")
        }
        return .sequence(id)
    }
}

extension ExportSettings.Format: ExpressibleByArgument {}
