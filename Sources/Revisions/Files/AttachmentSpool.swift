internal import Compression
internal import Encodings
package import GatewayClient
internal import Locking

/// The length and digest of an attachment whose bytes are complete, verified and stored in a file.
package struct AttachmentBody: Sendable, Equatable {
    package let byteCount: Int
    /// In lowercase hexadecimal.
    package let sha256: String

    package init(byteCount: Int, sha256: String) {
        self.byteCount = byteCount
        self.sha256 = sha256
    }
}

/// A file that receives an attachment and is read once it is complete, so that memory never holds all of it.
package actor AttachmentSpool {
    private let executor = BlockingExecutor("changebot.attachment")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let file: OpenFile
    private var digest = RunningDigest(.sha256)

    /// - Parameter path: Nil for an unnamed temporary file in `directory`.
    package init(path: String? = nil, directory: String) throws(TransferError) {
        if let path { file = try OpenFile(creating: path) } else { file = try OpenFile(temporaryIn: directory) }
    }

    package func begin() throws(TransferError) {
        try file.truncate(to: 0)
        digest = RunningDigest(.sha256)
    }

    package func append(_ bytes: [UInt8]) throws(TransferError) {
        try file.write(bytes)
        digest.update(bytes)
    }

    package var body: AttachmentBody { AttachmentBody(byteCount: digest.byteCount, sha256: digest.hex) }

    package func rewind() throws(TransferError) { try file.seek(to: 0) }

    package func read(upTo limit: Int) throws(TransferError) -> [UInt8] { try file.read(upTo: limit) }

    /// The compression levels to try, CouchDB's default first.
    private static let levels: [Int32] = [8, 6, 9, 7, 5, 4, 3, 2, 1]

    /// Whether CouchDB may have stored these bytes under this digest, compressed or not.
    package func mayHave(_ digest: AttachmentDigest) throws -> Bool {
        try file.seek(to: 0)
        var plain = AttachmentDigest.Calculation.ofCompressedBytes
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty { plain.update(piece) }
        return try plain.digest() == digest || isCompressed(as: digest)
    }

    /// Whether CouchDB may have compressed these bytes to a body with this digest. Compresses up to nine times.
    package func isCompressed(as expected: AttachmentDigest) throws -> Bool {
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
    package func isSame(as path: String) -> Bool {
        guard let other = try? OpenFile(reading: path), let count = try? other.byteCount, count == digest.byteCount
        else { return false }
        return (try? other.sha256()) == digest.hex
    }

    /// Syncs the file and renames it. The new name survives a power failure only after its folder is also synced. The
    /// spool must have been created with a path.
    package func rename(to path: String) throws(TransferError) {
        try file.sync()
        try FileOperations.renameUnsynced(file.path, to: path)
    }
}
