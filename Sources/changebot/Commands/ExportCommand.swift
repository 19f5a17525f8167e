internal import ArgumentParser
internal import Bots
internal import DocumentFlow
internal import FoundationEssentials
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules
internal import Transfer

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the documents of a keyspace to a file.",
        discussion: """
            Writes one line per document, as the gateway sends it, and a manifest next to the file:

            changebot export --gateway http://127.0.0.1:4985/todo --output todo.ndjson.gz --attachments files
            changebot verify todo.ndjson.gz

            To export what has changed since that export:

            changebot export --gateway http://127.0.0.1:4985/todo --output monday.ndjson \\
                --since-manifest todo.ndjson.gz.manifest.json
            """,
        subcommands: [ExportMergeCommand.self])

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var databases: DatabaseOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file to write, gzip-compressed if its name ends in .gz; - is stdout. Default: -.", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(help: "ndjson, json (one array) or csv. Default: by the file's name, else ndjson.")
    var format: OutputFormat?

    @Option(
        help: ArgumentHelp(
            "Where attachments go: none, inline (base64 in the documents), or a folder, for files named by their SHA-256. Default: none.",
            valueName: "none|inline|dir"), completion: .directory)
    var attachments: String?

    @Option(help: ArgumentHelp("Only documents that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        help: ArgumentHelp("Only documents in these channels (Sync Gateway).", valueName: "a,b"),
        transform: ChannelList.parse)
    var channels: ChannelList?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only documents that changed after this sequence, including deletions.", valueName: "seq"),
        transform: SequenceArgument.parse)
    var since: SequenceArgument?

    @Option(
        help: ArgumentHelp(
            "Only documents that changed after the export with this manifest, including deletions.", valueName: "file"),
        completion: .file())
    var sinceManifest: String?

    @Flag(
        help:
            "Export all leaf revisions with their histories, including deleted ones. 'import --mode restore' restores them."
    )
    var revisions = false

    @Option(
        help: ArgumentHelp(
            "The columns of a table, in this order: paths such as _id,task,owner.name. Default: all members.",
            valueName: "a,b.c"))
    var fields: String?

    @Option(
        help: ArgumentHelp(
            "The separator of the cells of a table: one character, or tab. Default: a comma, or a tab for .tsv."))
    var delimiter: String?

    @Option(
        help: ArgumentHelp(
            "Encrypt the output with age (a public key: age1…, ssh-…) or gpg (the id or address of a key). Can be repeated.",
            valueName: "recipient"))
    var encryptTo: [String] = []

    @Flag(help: "Continue an interrupted export to the same file.")
    var resume = false

    @Flag(
        help: "Replace any existing file. Default: only an earlier export of the same kind and database.")
    var overwrite = false

    func run() async throws {
        let environment = try config.environment()
        // Each inline attachment is an open file until it is written.
        OpenFiles.raiseLimit()
        let logger = try log.logger(environment)
        let choice = try gateway.choice(environment)
        if let patterns = try databases.choice(environment, choice) {
            return try await export(patterns, choice, environment, logger)
        }
        try await export(choice, environment, logger)
    }

    private func export(_ choice: GatewayChoice, _ environment: Environment, _ logger: Logger) async throws {
        let place = try place(environment)
        try checkFiles(place, choice, environment)
        try choice.requireFile()
        let settings = try settings(place, environment)
        logger.warn(about: settings.filter)
        guard !settings.isResuming || place.canResume else {
            throw CommandError(
                .usage,
                place.isNamed
                    ? "--resume: an encrypted export can't be continued; run without it, from the beginning"
                    : "--resume needs a file; output to stdout or a pipe can't be continued")
        }
        let report = ExportReport()
        let job = TransferJob(
            options: common, environment: environment, logger: logger,
            progress: try common.progress(environment, log))
        try await job.run(report, limit: settings.errorLimit) { service in
            try await GatewayConnection(choice, for: .existing, access, environment, logger).with { gateway in
                try await service(
                    Exporter(gateway: gateway, settings: settings, place: place, report: report, logger: logger))
            }
        }
    }

    /// Exports each database to its own file, one after the other.
    private func export(
        _ patterns: DatabasePatterns, _ choice: GatewayChoice, _ environment: Environment, _ logger: Logger
    ) async throws {
        let placeholder = GatewayChoice.placeholder
        guard path(environment).contains(placeholder) else {
            throw CommandError(
                .usage,
                "each database has its own file: write \(placeholder) in --output, such as backups/\(placeholder).ndjson.gz"
            )
        }
        if let summary = common.summaryPath(environment), !summary.contains(placeholder) {
            throw CommandError(.usage, "each database has its own summary: write \(placeholder) in --summary")
        }
        let isStopped = Locked(false)
        try await GatewayConnection(choice, for: .existing, access, environment, logger).with { server in
            let walk = DatabaseWalk(server, patterns, retries: try common.retries(environment), logger: logger)
            try await walk.visit { name, gateway in
                guard !isStopped.withLock(\.self) else { return false }
                try await of(database: KeyspaceName.pathSegment(of: name)).export(
                    gateway, named: name, choice, environment, logger, isStopped)
                return true
            }
        }
    }

    /// The command for one of many databases: the placeholders in names of files are replaced.
    private func of(database name: String) -> ExportCommand {
        func named(_ text: String?) -> String? { text?.replacing(GatewayChoice.placeholder, with: name) }
        let environment = (try? config.environment()) ?? Environment()
        var command = self
        command.output = named(path(environment))
        command.common.summary = named(common.summaryPath(environment))
        command.attachments = named(attachments ?? environment["attachments"])
        command.sinceManifest = named(sinceManifest ?? environment["since-manifest"])
        return command
    }

    private func export(
        _ gateway: Gateway, named name: String, _ choice: GatewayChoice, _ environment: Environment, _ logger: Logger,
        _ isStopped: Locked<Bool>
    ) async throws {
        let place = try place(environment)
        var command = self
        if let manifest = sinceManifest, !FileManager.default.fileExists(atPath: manifest) {
            logger.notice(
                "a database has no earlier export, so all of it is exported", metadata: [LogKey.database: "\(name)"])
            command.sinceManifest = nil
        }
        try command.checkFiles(place, choice, environment)
        let settings = try command.settings(place, environment)
        let report = ExportReport()
        let job = TransferJob(
            options: common, environment: environment, logger: logger,
            progress: try common.progress(environment, log))
        var logger = logger
        logger[metadataKey: LogKey.database] = "\(name)"
        try await job.run(report, limit: settings.errorLimit, isStopped: isStopped) { [logger] service in
            try await service(
                Exporter(gateway: gateway, settings: settings, place: place, report: report, logger: logger))
        }
    }

    private func path(_ environment: Environment) -> String { output ?? environment["output"] ?? "-" }

    /// - Throws: ``CommandError`` with 64 if the name of the output and `--encrypt-to` contradict each other;
    ///   `TransferError`.
    private func place(_ environment: Environment) throws -> ExportPlace {
        let recipients = encryptTo.isEmpty ? environment["encrypt-to"].map { [$0] } ?? [] : encryptTo
        let encryption = recipients.isEmpty ? nil : try ExportEncryption(recipients)
        let place = ExportPlace(path(environment), encryption: encryption)
        guard place.isNamed else { return place }
        let named = ExportEncryption.program(ofFileNamed: place.path)
        if let encryption, named != encryption.program {
            throw CommandError(
                .usage,
                "--output \(place.path): end the name with \(encryption.ending), because \(encryption.program) encrypts it"
            )
        }
        if encryption == nil, named != nil {
            throw CommandError(
                .usage,
                "--output \(place.path): only an encrypted export may have this ending; add --encrypt-to, or choose "
                    + "another name")
        }
        return place
    }

    /// - Throws: ``CommandError`` with 64 if an output is the same file as another output or an input; with 73 if the
    ///   summary can't be written.
    private func checkFiles(
        _ place: ExportPlace, _ choice: GatewayChoice, _ environment: Environment
    ) throws(CommandError) {
        let summary = common.summaryPath(environment)
        let given = sinceManifest ?? environment["since-manifest"]
        let bodies = attachments ?? environment["attachments"]
        let folder = [nil, "none", "inline", ""].contains(bodies) ? nil : bodies
        let own: [DistinctFiles.NamedFile] =
            [("--output", place.path)] + place.temporaryFiles.map { ("the unfinished --output", $0) }
        var files = DistinctFiles(outputs: own, inputs: [("--since-manifest", given)])
        files.read(access, choice, environment)
        files.read(tree: folder.map { $0 + "/sha256" }, "--attachments")
        try files.check()
        files.outputs += [
            ("the manifest of --output", place.isNamed ? place.manifest : nil), ("--summary", summary),
        ]
        // --since-manifest may name the manifest that this export replaces.
        if given.map({ OutputPath.resolved($0) }) == place.manifest { files.inputs.removeFirst() }
        try files.check()
        if let summary { try OutputFile.check(summary) }
    }

    /// - Throws: ``CommandError`` with 64; `RuleFilesError` if the selector is not valid.
    private func settings(_ place: ExportPlace, _ environment: Environment) throws -> ExportSettings {
        var settings = ExportSettings()
        settings.tool = "changebot \(Changebot.version)"
        settings.format = try outputFormat(environment)
        switch attachments ?? environment["attachments"] {
        case nil, "none": settings.attachments = .none
        case "": throw CommandError(.usage, "--attachments: the folder's name is empty")
        case "inline": settings.attachments = .inline
        case let folder?:
            guard place.encryption == nil else {
                throw CommandError(
                    .usage,
                    "--attachments \(folder): the files in a folder are not encrypted; use --attachments inline with "
                        + "--encrypt-to")
            }
            settings.attachments = .folder(folder)
        }
        settings.selector = selector ?? environment["selector"]
        settings.filter = try settings.selector.map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        settings.since = try start(environment)
        settings.includesRevisions = try environment.isOn(revisions, "revisions")
        settings.isResuming = try environment.isOn(resume, "resume")
        settings.overwrites = try environment.isOn(overwrite, "overwrite")
        settings.table = try table(settings.format, environment)
        settings.retries = try common.retries(environment)
        settings.errorLimit = try common.errorLimit(environment)
        guard !settings.format.isTable || !settings.includesRevisions else {
            throw CommandError(.usage, "--revisions: a table can't hold histories; remove --format csv")
        }
        return settings
    }

    /// - Throws: ``CommandError`` with 64 if the file's name names a format that can't be written.
    private func outputFormat(_ environment: Environment) throws(CommandError) -> OutputFormat {
        if let format = try environment.value(format, "format", parse: OutputFormat.init(rawValue:)) { return format }
        let path = ExportEncryption.plainName(path(environment))
        if let foreign = ForeignFormat(fileName: path) {
            throw CommandError(
                .usage,
                "--output \(path): export can't write this format, only ndjson, json and csv; "
                    + "\(foreign.remedy(for: path)), or choose the content of this file with --format")
        }
        return InputFormat(fileName: path).flatMap { OutputFormat(rawValue: $0.rawValue) } ?? .ndjson
    }

    private func table(
        _ format: OutputFormat, _ environment: Environment
    ) throws(CommandError) -> CSVOptions {
        var table = CSVOptions()
        table.delimiter = .usual(in: ExportEncryption.plainName(path(environment)))
        // Variables apply to all commands, so they are ignored for formats other than tables.
        let fields = fields ?? (format.isTable ? environment["fields"] : nil)
        let delimiter = delimiter ?? (format.isTable ? environment["delimiter"] : nil)
        guard format.isTable || fields == nil && delimiter == nil else {
            let option = fields == nil ? "--delimiter" : "--fields"
            throw CommandError(.usage, "\(option): only a table has columns; add --format csv")
        }
        if let fields {
            do throws(CSVFields.FormatError) { table.fields = try CSVFields(fields) } catch {
                throw CommandError(.usage, "--fields: \(error)")
            }
        }
        if let delimiter {
            guard let character = CSVDelimiter(delimiter) else {
                throw CommandError(
                    .usage, "--delimiter '\(delimiter)': write one character such as ; or |, or tab")
            }
            table.delimiter = character
        }
        return table
    }

    private func start(_ environment: Environment) throws(CommandError) -> ExportSettings.Start? {
        let sequence = try environment.value(since, "since", parse: SequenceArgument.init(argument:))
        let manifest = sinceManifest ?? environment["since-manifest"]
        guard sequence == nil || manifest == nil else {
            throw CommandError(.usage, "--since and --since-manifest can't be combined: remove one")
        }
        if let manifest { return .manifest(manifest) }
        return sequence.map { .sequence($0.sequence) }
    }
}

extension OutputFormat: ExpressibleByArgument {}
