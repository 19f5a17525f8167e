internal import Glibc
internal import ServiceLifecycle

/// The files that an import reads, checked before anything is made for it.
package struct ImportInputs: Sendable {
    /// The folder with the attachments; nil if there is none and none is needed.
    let attachments: String?
    /// Whether that folder was found by the manifest, not named by the user.
    let isNamedByManifest: Bool

    /// Checks the files of an import. A graceful shutdown ends it.
    ///
    /// - Throws: ``TransferError``: `.missing`, `.invalid`; `.occupied` if the progress file is something else;
    ///   `CancellationError`, also after a graceful shutdown.
    package static func check(_ settings: ImportSettings) async throws -> ImportInputs {
        try await cancelWhenGracefulShutdown { try await InputCheck().run(settings) }
    }

    /// Blocks while it checks the whole input against its manifest, if that is wanted.
    ///
    /// - Throws: ``TransferError``, `CancellationError`.
    fileprivate init(_ settings: ImportSettings) throws {
        try Self.checkReadable(settings.path)
        if let folder = settings.attachments {
            attachments = try AttachmentPlaces.checked(folder)
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
    }

    private static func exportedFolder(_ settings: ImportSettings) throws -> String? {
        guard let exported = try exportedAttachments(settings), settings.mode != .delete else { return nil }
        if let folder = exported.found { return folder }
        if exported.count > 0, settings.checksManifest { throw exported.absence }
        return nil
    }

    /// The attachments according to the manifest beside the input; nil if there is no manifest.
    private static func exportedAttachments(_ settings: ImportSettings) throws -> ExportedAttachments? {
        let path = settings.path
        guard ImportReader.isRegularFile(path),
            let manifest = try ManifestCheck.read(path, isStrict: settings.checksManifest)
        else { return nil }
        if settings.checksManifest { try ManifestCheck.run(path, manifest) }
        return ExportedAttachments(manifest.value, besides: path)
    }
}

/// Runs the check on a thread of its own, because reading the whole input blocks.
private actor InputCheck {
    private let executor = BlockingExecutor("changebot.check")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ settings: ImportSettings) throws -> ImportInputs { try ImportInputs(settings) }
}
