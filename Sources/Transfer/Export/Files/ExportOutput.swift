internal import Compression
internal import Encodings

/// Writes the bytes of an export: compressed if asked, counted and hashed.
///
/// A file can be resumed from a save point: up to there it is on disk and its digest is known.
final class ExportOutput {
    struct SavePoint: Sendable, Equatable {
        var byteCount = 0
        /// Of the bytes so far, in lowercase hexadecimal; empty if nothing was saved.
        var sha256 = ""
    }

    /// Bytes per write: large enough to be efficient, small enough not to delay.
    static let pieceSize = 256 << 10

    private let file: OpenFile
    private let isFile: Bool
    private var compressor: GzipWriter?
    /// Whether there is a gzip member that is not finished.
    private var hasOpenMember = false
    private var digest = RunningDigest(.sha256)
    private var waiting: [UInt8] = []

    /// - Parameter isFile: Whether the file can be truncated, synced and read.
    init(_ file: OpenFile, isFile: Bool, isCompressed: Bool) {
        self.file = file
        self.isFile = isFile
        compressor = isCompressed ? GzipWriter() : nil
        waiting.reserveCapacity(Self.pieceSize)
    }

    var byteCount: Int { digest.byteCount + waiting.count }

    func write(_ bytes: some Collection<UInt8>) throws(TransferError) {
        if compressor == nil {
            waiting.append(contentsOf: bytes)
        } else if !bytes.isEmpty {
            compressor?.write(Array(bytes), to: &waiting)
            hasOpenMember = true
        }
        if waiting.count >= Self.pieceSize { try flush() }
    }

    private func flush() throws(TransferError) {
        guard !waiting.isEmpty else { return }
        try file.write(waiting)
        digest.update(waiting)
        waiting.removeAll(keepingCapacity: true)
    }

    /// Flushes everything, and ends the gzip member, so that the output can be read up to here.
    ///
    /// - Returns: The save point; if this is a file, it is on disk.
    func save() throws(TransferError) -> SavePoint {
        if hasOpenMember {
            compressor?.finish(to: &waiting)
            hasOpenMember = false
        }
        try flush()
        if isFile { try file.sync() }
        return SavePoint(byteCount: digest.byteCount, sha256: digest.hex)
    }

    /// As ``save()``, for the end. An empty compressed output still gets one gzip member, because an empty file is not
    /// gzip.
    func finish() throws(TransferError) -> SavePoint {
        if byteCount == 0, compressor != nil { hasOpenMember = true }
        return try save()
    }

    /// Truncates the file to a save point, discarding what follows it.
    ///
    /// - Parameter lookingAt: Gets the bytes before the save point, in pieces.
    /// - Returns: False if the file does not have those bytes; it is then emptied.
    func truncate(to point: SavePoint, lookingAt body: ([UInt8]) throws -> Void = { _ in }) throws -> Bool {
        waiting.removeAll(keepingCapacity: true)
        digest = RunningDigest(.sha256)
        try file.seek(to: 0)
        while digest.byteCount < point.byteCount {
            let piece = try file.read(upTo: min(Self.pieceSize, point.byteCount - digest.byteCount))
            guard !piece.isEmpty else { break }
            digest.update(piece)
            try body(piece)
        }
        guard digest.byteCount == point.byteCount, point.byteCount == 0 || digest.hex == point.sha256 else {
            digest = RunningDigest(.sha256)
            try file.truncate(to: 0)
            return false
        }
        try file.truncate(to: point.byteCount)
        return true
    }

    /// Reads everything that was saved, from the beginning; later writes are appended.
    func readAll(_ body: ([UInt8]) throws -> Void) throws {
        try file.seek(to: 0)
        var left = digest.byteCount
        while left > 0 {
            let piece = try file.read(upTo: min(Self.pieceSize, left))
            guard !piece.isEmpty else { return }
            left -= piece.count
            try body(piece)
        }
    }
}
