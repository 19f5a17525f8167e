internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Rules
internal import Transfer

/// The options of `import` for reading and writing documents, in addition to ``InputOptions``.
struct ImportOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What to do with a document that already exists: insert rejects it, upsert replaces it and its attachments, merge patches it, delete deletes it. restore adds the revisions in the file unchanged. Default: insert."
        ))
    var mode: ImportMode?

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("A mapping to apply to each document. Can be repeated.", valueName: "path"),
        completion: .yamlFile)
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only documents that match this Mango selector after the mapping; others are skipped.",
            valueName: "json"))
    var selector: String?

    @Option(help: "todo: check all documents before the first is written, and write lists before their tasks.")
    var schema: ImportSettings.Schema?

    @Option(
        help: ArgumentHelp(
            "The folder with the attachments of the export. Default: the one that the manifest names.", valueName: "dir"
        ), completion: .directory)
    var attachments: String?

    @Option(
        help: ArgumentHelp(
            "Write rejected documents to this file, unchanged, so you can correct and import them. The reasons go to FILE.reasons.",
            valueName: "file"), completion: .file())
    var reject: String?

    @Flag(help: "Import the file even if it differs from its manifest.")
    var ignoreManifest = false

    @Flag(help: "Write nothing. Print what would be done, one JSON object per document.")
    var dryRun = false

    @Flag(help: "Continue an interrupted import of the same file.")
    var resume = false

    @Option(
        help: ArgumentHelp("Where the import records its progress. Default: FILE.import-progress.", valueName: "file"),
        completion: .file())
    var progressFile: String?

    /// - Parameter files: The other files that the command reads and writes.
    /// - Throws: ``CommandError`` with 64 for wrong options, 73 if a file can't be created.
    func settings(
        for source: ImportSource, _ input: InputOptions, _ conflicts: ConflictOptions, _ files: DistinctFiles,
        _ environment: Environment
    ) throws(CommandError) -> ImportSettings {
        var settings = ImportSettings()
        settings.path = source.path
        settings.format = source.isMerged ? .ndjson : try input.format(environment)
        settings.delimiter = try input.delimiter(for: source.path, environment)
        settings.mode = try environment.value(mode, "mode", parse: ImportMode.init(rawValue:)) ?? settings.mode
        settings.schema = try environment.value(schema, "schema", parse: ImportSettings.Schema.init(rawValue:))
        settings.selector = selector ?? environment["selector"]
        settings.filter = try filter(settings.selector)
        settings.attachments = source.isMerged ? nil : attachments ?? environment["attachments"]
        if source.isMerged, attachments != nil {
            throw CommandError(
                .usage,
                "--attachments: each of several exports has its own folder; put it next to the export, or merge them "
                    + "first with changebot export merge")
        }
        settings.rejectPath = reject ?? environment["reject"]
        settings.checksManifest = try !environment.isOn(ignoreManifest, "ignore-manifest")
        if try environment.isOn(dryRun, "dry-run") {
            settings.preview = { line in try Console.write(line) }
        }
        settings.isResuming = try environment.isOn(resume, "resume")
        settings.policies = try policies(conflicts, settings.mode, settings.filter, environment)
        if settings.mode == .delete, settings.schema != nil {
            throw CommandError(.usage, "--schema has no effect with --mode delete; remove it")
        }
        let progressPath = progressFile ?? environment["progress-file"] ?? source.progressPath
        try check(files, of: source, settings, progressPath, environment)
        settings.rejectPath = try settings.rejectPath.map { path throws(CommandError) in
            try OutputFile.checkRegular(path, "--reject")
        }
        settings.progressPath = try usableProgressPath(progressPath, for: source, settings.isResuming)
        return settings
    }

    /// The policies. In modes that use none, the variable is ignored, because it applies to all commands.
    private func policies(
        _ conflicts: ConflictOptions, _ mode: ImportMode, _ filter: DocumentFilter?, _ environment: Environment
    ) throws(CommandError) -> ConflictPolicies? {
        guard ![.insert, .restore].contains(mode) else { return try conflicts.policies(filter, environment) }
        guard conflicts.policy.isEmpty else {
            throw CommandError(
                .usage,
                "--policy only applies to --mode insert and restore, not to \(mode.rawValue); remove it")
        }
        return nil
    }

    private static func isRejectFile(_ path: String, input: String) -> Bool {
        var (file, other) = (stat(), stat())
        guard stat(path, &file) == 0, stat(input, &other) == 0, access(path + ".reasons", F_OK) == 0 else {
            return false
        }
        return file.st_dev == other.st_dev && file.st_ino == other.st_ino
    }

    /// - Throws: ``CommandError`` with 64 if one file would overwrite another.
    private func check(
        _ files: DistinctFiles, of source: ImportSource, _ settings: ImportSettings, _ progressPath: String,
        _ environment: Environment
    ) throws(CommandError) {
        var files = files
        // The input may be an earlier reject file: at the end, it is replaced by the documents rejected again.
        let reject = settings.rejectPath.flatMap { Self.isRejectFile($0, input: source.path) ? nil : $0 }
        files.outputs += [("--reject", reject), ("the reasons of --reject", reject.map { $0 + ".reasons" })]
        files.inputs += source.inputs
        if source.path != "-" {
            files.outputs += [
                ("--progress-file", progressPath), ("the lock of --progress-file", progressPath + ".lock"),
            ]
        }
        files.read(rules: mapPaths(environment), "--map")
        files.read(tree: settings.attachments.map { $0 + "/sha256" }, "--attachments")
        try files.check()
    }

    private func mapPaths(_ environment: Environment) -> [String] {
        map.isEmpty ? environment["map"].map { [$0] } ?? [] : map
    }

    private func filter(_ selector: String?) throws(CommandError) -> DocumentFilter? {
        do throws(RuleFilesError) {
            return try selector.map { text throws(RuleFilesError) in try DocumentFilter(text, name: "--selector") }
        } catch {
            throw CommandError(error)
        }
    }

    /// The path of the progress file; nil if the input can't be read again, or the file can't be created.
    private func usableProgressPath(
        _ path: String, for source: ImportSource, _ isResuming: Bool
    ) throws(CommandError) -> String? {
        guard source.canBeReadAgain else {
            guard !isResuming, progressFile == nil else {
                let option = isResuming ? "--resume" : "--progress-file"
                throw CommandError(.usage, "\(option): stdin and pipes can't be read again; import from a file")
            }
            return nil
        }
        do throws(CommandError) { return try OutputFile.checkRegular(path, "--progress-file") } catch {
            // An import without a progress file can't be resumed, but it can run.
            guard progressFile == nil, !isResuming else { throw error }
            return nil
        }
    }

    /// The mapping of `--map`; nil without it.
    ///
    /// - Throws: ``CommandError``, `RuleFilesError`.
    func mapping(_ environment: Environment, _ slurps: SlurpOptions) async throws -> Mapping? {
        let paths = mapPaths(environment)
        guard !paths.isEmpty else {
            // CHANGEBOT_SLURP is ignored here, because variables apply to all commands.
            guard slurps.slurp.isEmpty else {
                throw CommandError(.usage, "--slurp requires a mapping: add --map RULES")
            }
            return nil
        }
        return try await Mapping.load(paths: paths, slurps: slurps.load(environment))
    }
}

extension ImportMode: ExpressibleByArgument {}
extension ImportSettings.Schema: ExpressibleByArgument {}
