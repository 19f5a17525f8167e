internal import Encodings
internal import FoundationEssentials
package import Logging
package import Revisions

/// A full export and its increments, which an import reads as one full export.
///
/// They are merged into a file, so that an interrupted import can be resumed: the same exports always give the same
/// file.
package struct RestoredExport: Sendable {
    /// The merged export.
    package let path: String
    private let settings: ExportMerger.Settings

    /// Reads the manifests and checks that the exports belong together. Writes nothing.
    ///
    /// The merged export is next to the first export, or in the system's temporary folder if that is not possible.
    ///
    /// - Parameter settings: The exports, and where to end. What concerns the output is chosen here.
    /// - Throws: ``TransferError`` as ``ExportMerger/init(_:to:logger:)``.
    package init(_ settings: ExportMerger.Settings) throws(TransferError) {
        let chain = try ExportChain(settings.inputs, until: settings.limit)
        var digest = RunningDigest(.sha256)
        for file in chain.files { digest.update(Array("\(file.manifest.sha256)\n".utf8)) }
        let folder = FileOperations.directory(of: settings.inputs[0])
        let isWritable = FileManager.default.isWritableFile(atPath: folder)
        let place = isWritable ? folder : FileOperations.temporaryDirectory
        let ending = chain.full.manifest.options.isCompressed ? ".ndjson.gz" : ".ndjson"
        path = "\(place)/changebot-import-\(digest.hex.prefix(16))\(ending)"
        self.settings = settings
    }

    private var attachments: String { path + ".attachments" }

    /// Merges the exports.
    ///
    /// - Parameter isResuming: Whether the merged export of an interrupted import is used, if it is still there.
    /// - Throws: ``TransferError``; `CancellationError`. Then nothing is left.
    package func merge(isResuming: Bool, logger: Logger) async throws {
        if isResuming, FileOperations.exists(ExportPlace.manifest(of: path)) { return }
        var settings = settings
        settings.overwrites = true
        settings.gatheredAttachments = attachments
        try await ExportMerger(settings, to: ExportPlace(path), logger: logger).run()
    }

    /// Removes the merged export.
    package func remove() {
        for file in [path, ExportPlace.manifest(of: path), attachments] {
            try? FileManager.default.removeItem(atPath: file)
        }
    }
}
