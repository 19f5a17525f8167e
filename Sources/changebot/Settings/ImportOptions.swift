internal import ArgumentParser
internal import Foundation
internal import Rules
internal import Transfer

/// What `import` makes of its input.
struct ImportOptions: ParsableArguments {
    @OptionGroup var input: InputOptions

    @Option(
        help: ArgumentHelp(
            "insert (what is there already is rejected), upsert (is replaced, attachments too), merge (is patched), restore (revisions as they are) or delete. Default: insert."
        ))
    var mode: ImportMode?

    @Option(
        name: .long, parsing: .singleValue,
        help: "A mapping that is applied to each document. May be given several times.")
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only documents that this Mango selector matches, after the mapping; the others are passed over.",
            valueName: "json"))
    var selector: String?

    @Option(help: "todo: check documents before any is written, and write lists before their tasks.")
    var schema: ImportSettings.Schema?

    @Option(
        help: ArgumentHelp(
            "The folder with the attachments of an export. Default: the one that the manifest names.", valueName: "dir")
    )
    var attachments: String?

    @Option(
        help: ArgumentHelp(
            "Where rejected documents go, as they came: correct them, and import them. The reasons go to FILE.reasons.",
            valueName: "file"))
    var reject: String?

    @Flag(help: "Take a file that is not as the manifest beside it says.")
    var ignoreManifest = false

    @Flag(help: "Write nothing; print what would be done, one JSON object for each document.")
    var dryRun = false

    @Flag(help: "Go on where an interrupted import of the same file ended.")
    var resume = false

    @Option(help: ArgumentHelp("How far the import is. Default: FILE.import-progress.", valueName: "file"))
    var progressFile: String?

    /// - Throws: ``CommandFailure`` with 64, 73.
    func settings(
        for file: String, summary: String?, _ environment: Environment
    ) throws(CommandFailure) -> ImportSettings {
        var settings = ImportSettings()
        settings.path = file
        settings.format = try input.format(environment)
        settings.delimiter = try input.delimiter(for: file, environment)
        settings.mode = try environment.value(mode, "mode", parse: ImportMode.init(rawValue:)) ?? settings.mode
        settings.schema = try environment.value(schema, "schema", parse: ImportSettings.Schema.init(rawValue:))
        settings.selector = selector ?? environment["selector"]
        settings.filter = try filter(settings.selector)
        settings.attachments = attachments ?? environment["attachments"]
        settings.rejectPath = reject ?? environment["reject"]
        settings.checksManifest = try !environment.isOn(ignoreManifest, "ignore-manifest")
        if try environment.isOn(dryRun, "dry-run") {
            settings.preview = { line in try Console.write(line) }
        }
        settings.isResuming = try environment.isOn(resume, "resume")
        if settings.mode == .delete, settings.schema != nil {
            throw CommandFailure(.usage, "--schema: of documents that are deleted only the ids count; leave it out")
        }
        let progressPath = progressFile ?? environment["progress-file"] ?? ImportSettings.progressPath(of: file)
        // The reject file of an earlier import is replaced by what of it is rejected again.
        let reject = settings.rejectPath.flatMap { Self.isRejectFile($0, input: file) ? nil : $0 }
        try DistinctFiles.check([
            ("the input", file), ("--reject", reject), ("the reasons of --reject", reject.map { $0 + ".reasons" }),
            ("--progress-file", file == "-" ? nil : progressPath),
            ("the lock of --progress-file", file == "-" ? nil : progressPath + ".lock"), ("--summary", summary),
        ])
        settings.progressPath = try usable(progressPath, for: file, settings.isResuming)
        return settings
    }

    private static func isRejectFile(_ path: String, input: String) -> Bool {
        var (file, other) = (stat(), stat())
        guard stat(path, &file) == 0, stat(input, &other) == 0, access(path + ".reasons", F_OK) == 0 else {
            return false
        }
        return file.st_dev == other.st_dev && file.st_ino == other.st_ino
    }

    private func filter(_ selector: String?) throws(CommandFailure) -> DocumentFilter? {
        do throws(RuleFilesError) {
            return try selector.map { text throws(RuleFilesError) in try DocumentFilter(text, name: "--selector") }
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Nil for what can't be read again.
    private func usable(
        _ path: String, for file: String, _ isResuming: Bool
    ) throws(CommandFailure) -> String? {
        var information = stat()
        let isFile = file != "-" && (stat(file, &information) != 0 || information.st_mode & S_IFMT == S_IFREG)
        guard isFile else {
            guard !isResuming, progressFile == nil else {
                let option = isResuming ? "--resume" : "--progress-file"
                throw CommandFailure(.usage, "\(option): stdin and pipes can't be read again; import from a file")
            }
            return nil
        }
        do throws(CommandFailure) { try OutputFile.check(path) } catch {
            // Where nothing can be written beside the input, nobody can go on.
            guard progressFile == nil, !isResuming else { throw error }
            return nil
        }
        return path
    }

    /// Nil if documents are taken as they are.
    ///
    /// - Throws: ``CommandFailure``, `RuleFilesError`.
    func mapping(_ environment: Environment, _ slurps: SlurpOptions) async throws -> Mapping? {
        let paths = map.isEmpty ? environment["map"].map { [$0] } ?? [] : map
        let lists = try slurps.load()
        guard !paths.isEmpty else {
            guard lists.isEmpty else { throw CommandFailure(.usage, "--slurp is for mappings: add --map RULES") }
            return nil
        }
        return try await Mapping.load(paths: paths, slurps: lists)
    }
}

extension ImportMode: ExpressibleByArgument {}
extension ImportSettings.Schema: ExpressibleByArgument {}
