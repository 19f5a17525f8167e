internal import Compression
internal import Encodings

/// The bytes of an export on their way to where they go: packed if need be, counted, and with a digest.
///
/// A file can be gone on with from a save point: up to there it is on the disk, and its digest is known.
final class ExportOutput {
    struct SavePoint: Sendable, Equatable {
        var byteCount = 0
        /// Of the bytes so far.
        var sha256 = ""
    }

    /// Bytes of one write: large ones cost no more than they must, and wait for nothing.
    static let pieceSize = 256 << 10

    private let file: OpenFile
    private let isFile: Bool
    private var packer: GzipWriter?
    /// Whether there is packed text that has not come to its end.
    private var hasOpenMember = false
    private var digest = RunningDigest(.sha256)
    private var waiting: [UInt8] = []

    /// - Parameter isFile: Whether the file can be cut, synced and read.
    init(_ file: OpenFile, isFile: Bool, isPacked: Bool) {
        self.file = file
        self.isFile = isFile
        packer = isPacked ? GzipWriter() : nil
        waiting.reserveCapacity(Self.pieceSize)
    }

    var byteCount: Int { digest.byteCount + waiting.count }

    func write(_ bytes: some Collection<UInt8>) throws(TransferError) {
        if packer == nil {
            waiting.append(contentsOf: bytes)
        } else if !bytes.isEmpty {
            packer?.write(Array(bytes), to: &waiting)
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

    /// Hands on all that was written; what is packed comes to its end, so that it can be read up to here.
    ///
    /// - Returns: What is on the disk then, if this is a file.
    func save() throws(TransferError) -> SavePoint {
        if hasOpenMember {
            packer?.finish(to: &waiting)
            hasOpenMember = false
        }
        try flush()
        if isFile { try file.sync() }
        return SavePoint(byteCount: digest.byteCount, sha256: digest.hex)
    }

    /// The same at the end: a packed text of nothing is no empty file.
    func finish() throws(TransferError) -> SavePoint {
        if byteCount == 0, packer != nil { hasOpenMember = true }
        return try save()
    }

    /// Goes back to a save point, whatever was written behind it.
    ///
    /// - Parameter lookingAt: Gets the bytes before it.
    /// - Returns: False if the file does not hold those bytes: then it is empty.
    func goBack(to point: SavePoint, lookingAt body: ([UInt8]) throws -> Void = { _ in }) throws -> Bool {
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

    /// Reads all that was saved, from the beginning; what is written next stands behind it.
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
