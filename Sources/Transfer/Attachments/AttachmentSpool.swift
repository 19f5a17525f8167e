internal import Compression
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient

/// A file that an attachment is written to as it arrives and read from once complete, so that memory never holds all of
/// it.
actor AttachmentSpool {
    private let executor = BlockingExecutor("changebot.attachment")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let file: OpenFile
    private var digest = RunningDigest(.sha256)

    /// - Parameter path: Nil for an unnamed temporary file in `directory`.
    init(path: String? = nil, directory: String) throws(TransferError) {
        if let path { file = try OpenFile(creating: path) } else { file = try OpenFile(temporaryIn: directory) }
    }

    func begin() throws(TransferError) {
        try file.truncate(to: 0)
        digest = RunningDigest(.sha256)
    }

    func append(_ bytes: [UInt8]) throws(TransferError) {
        try file.write(bytes)
        digest.update(bytes)
    }

    var body: AttachmentBody { AttachmentBody(byteCount: digest.byteCount, sha256: digest.hex) }

    func rewind() throws(TransferError) { try file.seek(to: 0) }

    func read(upTo limit: Int) throws(TransferError) -> [UInt8] { try file.read(upTo: limit) }

    /// The compression levels to try, CouchDB's default first.
    private static let levels: [Int32] = [8, 6, 9, 7, 5, 4, 3, 2, 1]

    /// Whether CouchDB may have compressed these bytes to a body with this digest. Compresses up to nine times.
    func isCompressed(as expected: AttachmentDigest) throws -> Bool {
        for level in Self.levels {
            try Task.checkCancellation()
            try file.seek(to: 0)
            var digest = AttachmentDigest.Calculation.ofCompressedBytes
            var compressor = GzipWriter(level: level)
            var compressed: [UInt8] = []
            while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty {
                compressor.write(piece, to: &compressed)
                digest.update(compressed)
                compressed.removeAll(keepingCapacity: true)
            }
            compressor.finish(to: &compressed)
            digest.update(compressed)
            if digest.digest() == expected { return true }
        }
        return false
    }

    /// Whether the file at `path` has the same bytes as this one.
    func isSame(as path: String) -> Bool {
        guard let other = try? OpenFile(reading: path), let count = try? other.byteCount, count == digest.byteCount
        else { return false }
        return (try? other.sha256()) == digest.hex
    }

    /// Syncs the file and renames it. The new name survives a power cut only once its folder is synced too. The spool
    /// must have been made with a path.
    func rename(to path: String) throws(TransferError) {
        try file.sync()
        try WholeFile.renameUnsynced(file.path, to: path)
    }
}
