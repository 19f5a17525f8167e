internal import DocumentFlow
internal import Encodings
internal import Glibc
internal import Locking
internal import LosslessJSON
internal import Revisions
internal import ServiceLifecycle

/// The files that an import reads, checked before any output is created.
package struct ImportInputs: Sendable {
    /// The folder with the attachments; nil if none exists and none is needed.
    let attachments: String?
    /// Whether the manifest named the folder, not the user.
    let isNamedByManifest: Bool

    /// Checks the files of an import. A graceful shutdown cancels the check.
    ///
    /// - Throws: ``TransferError``: `.missing`, `.invalid`; `.occupied` if the progress file is another kind of file;
    ///   `CancellationError`, also after a graceful shutdown.
    package static func check(_ settings: ImportSettings) async throws -> ImportInputs {
        try await cancelWhenGracefulShutdown { try await InputCheck().run(settings) }
    }

    /// Blocks while it compares the whole input with its manifest, if that is enabled.
    ///
    /// - Throws: ``TransferError``, `CancellationError`.
    fileprivate init(_ settings: ImportSettings) throws {
        try Self.checkReadable(settings.path)
        if let folder = settings.attachments {
            attachments = try AttachmentFolderCandidates.checked(folder)
            _ = try Self.exportedAttachments(settings)
        } else {
            attachments = try Self.exportedFolder(settings)
        }
        isNamedByManifest = settings.attachments == nil && attachments != nil
        if settings.preview == nil, let path = settings.progressPath { try ImportProgress.check(path) }
    }

    /// - Parameter path: `-` for stdin, which is always accepted.
    private static func checkReadable(_ path: String) throws(TransferError) {
        guard path != "-" else { return }
        var information = stat()
        guard access(path, R_OK) == 0, stat(path, &information) == 0 else {
            throw TransferError(.missing, "can't read \(path): \(String(cString: strerror(errno)))")
        }
        guard information.st_mode & S_IFMT != S_IFDIR else {
            throw TransferError(.missing, "can't read \(path): it is a folder")
        }
        if let remedy = ExportEncryption.remedy(for: path) {
            throw TransferError(.invalid, "\(path) is encrypted; decrypt it first: \(remedy)")
        }
    }

    private static func exportedFolder(_ settings: ImportSettings) throws -> String? {
        guard let exported = try exportedAttachments(settings), settings.mode != .delete else { return nil }
        if let folder = exported.found { return folder }
        if exported.count > 0, settings.checksManifest { throw exported.absence }
        return nil
    }

    /// The attachments according to the manifest next to the input; nil if there is no manifest.
    private static func exportedAttachments(_ settings: ImportSettings) throws -> ExportedAttachments? {
        let path = settings.path
        guard ImportReader.isRegularFile(path),
            let manifest = try ManifestCheck.read(path, isStrict: settings.checksManifest)
        else { return nil }
        if settings.checksManifest { try ManifestCheck.run(path, manifest) }
        return ExportedAttachments(manifest.value, nextTo: path)
    }
}

/// Runs the check on its own thread, because reading the whole input blocks.
private actor InputCheck {
    private let executor = BlockingExecutor("changebot.check")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ settings: ImportSettings) throws -> ImportInputs { try ImportInputs(settings) }
}

/// Checks whether a file still is the export that its manifest describes.
private enum ManifestCheck {
    private static let pieceSize = 1 << 20

    struct Manifest {
        let path: String
        let value: JSONValue
    }

    /// Nil if there is no manifest next to the file.
    ///
    /// - Parameter isStrict: Whether an invalid manifest is an error; otherwise it is ignored.
    /// - Throws: ``TransferError``: `.invalid`, `.missing`.
    static func read(_ path: String, isStrict: Bool) throws(TransferError) -> Manifest? {
        let manifestPath = ExportPlace.findManifest(ExportPlace.manifest(of: path))
        guard let bytes = try FileOperations.read(manifestPath) else { return nil }
        guard let text = try? JSONText(bytes, limits: .files) else {
            if isStrict { throw mismatch(path, "\(manifestPath) is not a manifest") }
            return nil
        }
        return Manifest(path: manifestPath, value: text.root)
    }

    /// - Throws: ``TransferError``: `.invalid` if the size or the SHA-256 differs; `.missing`. `CancellationError`.
    static func run(_ path: String, _ manifest: Manifest) throws {
        guard let byteCount = manifest.value["bytes"]?.count, let sha256 = manifest.value["sha256"]?.string else {
            throw mismatch(path, "\(manifest.path) is not a manifest")
        }
        let file = try OpenFile(reading: path)
        let found = try file.byteCount
        guard found == byteCount else {
            throw mismatch(path, "it has \(found.counted("byte")) where \(manifest.path) says \(byteCount)")
        }
        var digest = RunningDigest(.sha256)
        while true {
            let piece = try file.read(upTo: pieceSize)
            if piece.isEmpty { break }
            try Task.checkCancellation()
            digest.update(piece)
        }
        guard digest.hex == sha256 else { throw mismatch(path, "its SHA-256 differs from that in \(manifest.path)") }
    }

    private static func mismatch(_ path: String, _ what: String) -> TransferError {
        TransferError(
            .invalid,
            "\(path) has changed since the export: \(what); copy it again, or import it anyway with --ignore-manifest")
    }
}

/// The attachments of an export according to its manifest.
private struct ExportedAttachments {
    /// The folder as named at export time.
    let folder: String
    /// How many attachments have their bytes in the folder.
    let count: Int
    /// The path of the export.
    private let path: String

    /// Nil if the export has no folder of attachments.
    init?(_ manifest: JSONValue, nextTo path: String) {
        guard manifest["options"]?["attachments"]?.string == "folder",
            let folder = manifest["options"]?["folder"]?.string, !folder.isEmpty
        else { return nil }
        self.folder = folder
        self.path = path
        count = manifest["attachments"]?["bodies"]?.count ?? 0
    }

    /// The folder's current path; nil if it is not found.
    var found: String? { AttachmentFolderCandidates(folder, of: path).found }

    /// The error of an import that needs the folder.
    var absence: TransferError {
        TransferError(
            .missing,
            "the folder \(folder) with the \(count.counted("attachment")) of \(path) is missing: name it with "
                + "--attachments DIR, or import without it with --ignore-manifest (documents keep only attachments "
                + "that the gateway already has)")
    }
}
