internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import ServiceLifecycle
internal import Transfer

/// What an import reads: one file, or a full export and its increments, which are merged first.
struct ImportSource: Sendable {
    /// The files of the command line. Never empty.
    private let files: [String]
    private let exports: RestoredExport?

    /// - Parameter limit: The value of `--at`. Nil: all exports.
    /// - Throws: ``CommandError`` with 64; `TransferError` if the exports do not belong together.
    init(_ files: [String], at limit: String?) throws {
        self.files = files
        guard files.count > 1 || limit != nil else {
            exports = nil
            return
        }
        try Self.checkManifests(files)
        var settings = ExportMerger.Settings(inputs: files, tool: "changebot \(Changebot.version)")
        settings.limit = try limit.map(ExportChain.Limit.init(argument:))
        exports = try RestoredExport(settings)
    }

    /// - Throws: ``CommandError`` with 64 if one of several files is not an export.
    private static func checkManifests(_ files: [String]) throws(CommandError) {
        guard let other = files.first(where: { !FileManager.default.fileExists(atPath: ExportPlace.manifest(of: $0)) })
        else { return }
        guard FileManager.default.fileExists(atPath: other) else {
            throw CommandError(.missingInput, "can't read \(other): \(String(cString: strerror(ENOENT)))")
        }
        throw CommandError(
            .usage,
            "\(other) has no manifest (\(ExportPlace.manifest(of: other))), so it is not one of several exports; "
                + (files.count > 1 ? "import reads other files one by one: call it once for each" : "remove --at"))
    }

    /// The file that the import reads, or `-`.
    var path: String { exports?.path ?? files[0] }

    /// The default path of the progress file.
    var progressPath: String { ImportSettings.progressPath(of: path) }

    /// The files that no output may replace.
    var inputs: [DistinctFiles.NamedFile] {
        guard files != ["-"] else { return [("the input", "-")] }
        return files.flatMap { [("the input", $0), ("the manifest of the input", ExportPlace.manifest(of: $0))] }
    }

    /// Whether it is more than one export.
    var isMerged: Bool { exports != nil }

    /// False for stdin and pipes.
    var canBeReadAgain: Bool {
        var information = stat()
        return isMerged
            || files[0] != "-" && (stat(files[0], &information) != 0 || information.st_mode & S_IFMT == S_IFREG)
    }

    /// Merges the exports, if there are several. A graceful shutdown stops it.
    ///
    /// - Parameter isResuming: Whether an interrupted import of the same exports is continued.
    /// - Throws: `TransferError`; `CancellationError`, also after a graceful shutdown.
    func prepare(isResuming: Bool, _ logger: Logger) async throws {
        guard let exports else { return }
        try await cancelWhenGracefulShutdown { try await exports.merge(isResuming: isResuming, logger: logger) }
    }

    /// Removes the merged export, unless the import can be resumed.
    func cleanUp(_ settings: ImportSettings) {
        let isResumable = settings.preview == nil && settings.progressPath.map { access($0, F_OK) == 0 } == true
        if !isResumable { exports?.remove() }
    }
}
