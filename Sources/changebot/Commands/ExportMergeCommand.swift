internal import ArgumentParser
internal import Locking
internal import Logging
internal import ServiceLifecycle
internal import Transfer

struct ExportMergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        // `export` has options of its own: parsed with it, those of this command would be taken for its options.
        _superCommandName: "changebot export",
        abstract: "Make one full export of a full export and its increments, without a gateway.",
        discussion: """
            The result is the full export that the gateway would have given with the last increment:

            changebot export merge todo.ndjson.gz monday.ndjson.gz tuesday.ndjson.gz --output merged.ndjson.gz
            changebot verify merged.ndjson.gz
            """)

    @Argument(
        help: ArgumentHelp("One full export, and its increments in any order.", valueName: "file"), completion: .file())
    var exports: [String]

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write, gzip-compressed if its name ends in .gz.", valueName: "file"),
        completion: .file())
    var output: String

    @Option(
        help: ArgumentHelp(
            "Only the exports that were complete at this time, or up to the export with this manifest. Default: all.",
            valueName: "time-or-manifest"))
    var at: String?

    @Option(
        help: ArgumentHelp(
            "The folder for attachments, if the exports have several. Default: the folder of all exports.",
            valueName: "dir"), completion: .directory)
    var attachments: String?

    @Flag(help: "Replace an existing file.")
    var overwrite = false

    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = Environment()
        let logger = try log.logger(environment)
        var settings = ExportMerger.Settings(inputs: exports, tool: "changebot \(Changebot.version)")
        settings.limit = try at.map(ExportChain.Limit.init(argument:))
        settings.attachments = attachments
        settings.overwrites = overwrite
        let place = ExportPlace(output)
        try checkFiles(place)
        let merger = try ExportMerger(settings, to: place, logger: logger)
        let isStopped = Locked(false)
        try await StoppableService.run(grace: StoppableService.defaultGrace, logger: logger) {
            do { try await cancelWhenGracefulShutdown { _ = try await merger.run() } } catch is CancellationError {
                isStopped.withLock { $0 = true }
            }
        }
        if isStopped.withLock(\.self) {
            throw CommandError(.temporaryFailure, "stopped before the end: nothing was written; run it again")
        }
    }

    /// - Throws: ``CommandError`` with 64 if an output is the same file as an input or its manifest.
    private func checkFiles(_ place: ExportPlace) throws(CommandError) {
        var files = DistinctFiles(outputs: [("--output", place.path)], inputs: [])
        files.outputs.append(("the manifest of --output", place.canResume ? place.manifest : nil))
        files.outputs += place.temporaryFiles.map { ("the unfinished --output", $0) }
        files.inputs = exports.flatMap {
            [("an export", $0), ("the manifest of an export", ExportPlace.manifest(of: $0))]
        }
        files.read(tree: attachments.map { $0 + "/sha256" }, "--attachments")
        try files.check()
    }
}
