internal import LosslessJSON

/// Whether a file is still the export that its manifest tells of.
enum ManifestCheck {
    private static let pieceSize = 1 << 20

    /// Does nothing if there is no manifest beside the file.
    ///
    /// - Throws: ``TransferError``: `.invalid` if bytes are missing, or others than they were; `.missing`.
    static func run(_ path: String) throws(TransferError) {
        let manifestPath = ExportPlace.findManifest(path + ".manifest.json")
        guard let bytes = try WholeFile.read(manifestPath) else { return }
        guard let manifest = try? JSONText(bytes).root, let byteCount = manifest["bytes"]?.integer,
            let sha256 = manifest["sha256"]?.string
        else {
            throw objection(path, "\(manifestPath) is no manifest")
        }
        let file = try OpenFile(reading: path)
        let found = try file.byteCount
        guard found == byteCount else {
            throw objection(path, "it has \(found) bytes where \(manifestPath) says \(byteCount)")
        }
        let digest = RunningDigest()
        while true {
            let piece = try file.read(upTo: pieceSize)
            if piece.isEmpty { break }
            digest.update(piece)
        }
        guard digest.hex == sha256 else { throw objection(path, "its SHA-256 is not that of \(manifestPath)") }
    }

    private static func objection(_ path: String, _ what: String) -> TransferError {
        TransferError(
            .invalid,
            "\(path) is not as it was exported: \(what); get it again, or take it as it is with --ignore-manifest")
    }
}
