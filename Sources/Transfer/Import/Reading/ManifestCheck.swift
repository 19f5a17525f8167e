internal import Encodings
internal import LosslessJSON

/// Checks whether a file still is the export that its manifest describes.
enum ManifestCheck {
    private static let pieceSize = 1 << 20

    struct Manifest {
        let path: String
        let value: JSONValue
    }

    /// Nil if there is no manifest beside the file.
    ///
    /// - Parameter isStrict: Whether an invalid manifest is an error; otherwise it is ignored.
    /// - Throws: ``TransferError``: `.invalid`, `.missing`.
    static func read(_ path: String, isStrict: Bool) throws(TransferError) -> Manifest? {
        let manifestPath = ExportPlace.findManifest(ExportPlace.manifest(of: path))
        guard let bytes = try WholeFile.read(manifestPath) else { return nil }
        guard let text = try? JSONText(bytes, limits: .files) else {
            if isStrict { throw objection(path, "\(manifestPath) is no manifest") }
            return nil
        }
        return Manifest(path: manifestPath, value: text.root)
    }

    /// - Throws: ``TransferError``: `.invalid` if the size or the SHA-256 differs; `.missing`. `CancellationError`.
    static func run(_ path: String, _ manifest: Manifest) throws {
        guard let byteCount = manifest.value["bytes"]?.count, let sha256 = manifest.value["sha256"]?.string else {
            throw objection(path, "\(manifest.path) is no manifest")
        }
        let file = try OpenFile(reading: path)
        let found = try file.byteCount
        guard found == byteCount else {
            throw objection(path, "it has \(found.counted("byte")) where \(manifest.path) says \(byteCount)")
        }
        var digest = RunningDigest(.sha256)
        while true {
            let piece = try file.read(upTo: pieceSize)
            if piece.isEmpty { break }
            try Task.checkCancellation()
            digest.update(piece)
        }
        guard digest.hex == sha256 else { throw objection(path, "its SHA-256 is not that of \(manifest.path)") }
    }

    private static func objection(_ path: String, _ what: String) -> TransferError {
        TransferError(
            .invalid,
            "\(path) is not as it was exported: \(what); get it again, or import it anyway with --ignore-manifest")
    }
}
