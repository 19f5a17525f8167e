internal import Compression
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import Locking

/// The length and digest of an attachment whose bytes are complete, checked and in a file.
struct AttachmentBody: Sendable, Equatable {
    let byteCount: Int
    /// In lowercase hexadecimal.
    let sha256: String

    /// Its path in a folder of attachments. Sharded by the first two digits, because a folder of a million files is
    /// slow.
    var file: String { Self.file(sha256) }

    static func file(_ sha256: String) -> String { "sha256/\(sha256.prefix(2))/\(sha256)" }
}

/// A folder of attachments, each named by the SHA-256 of its bytes: `sha256/ab/abcdef…`. Equal bytes are stored once,
/// however many documents have them.
struct AttachmentStore: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// Makes the folder if it is missing; subfolders are made when first needed.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`.
    func create() throws(TransferError) { try Self.create(path) }

    private static func create(_ folder: String) throws(TransferError) {
        if mkdir(folder, 0o777) == 0 { return }
        if errno == ENOENT, case let parent = WholeFile.directory(of: folder), parent != folder {
            try create(parent)
            if mkdir(folder, 0o777) == 0 { return }
        }
        let reason = String(cString: strerror(errno))
        guard WholeFile.isFolder(folder) else {
            throw TransferError(.cannotCreate, "can't create \(folder): \(reason)")
        }
    }

    /// A file to write to until the digest is known. Reuses the one that an interrupted run left.
    ///
    /// - Parameter slot: Tells apart the files that are written at the same time.
    func spool(for output: String, slot: Int) throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(path: spoolPath(for: output, slot), directory: path)
    }

    /// Removes a spool's file once nothing writes to it.
    func removeSpool(for output: String, slot: Int) { WholeFile.remove(spoolPath(for: output, slot)) }

    /// The name has a hash of the output's path, because exports with the same file name may share this folder.
    private func spoolPath(for output: String, _ slot: Int) -> String {
        guard output != "-" else { return "\(path)/.stdout-\(getpid())-\(slot).attachment" }
        var place = RunningDigest(.sha256)
        place.update(URL(fileURLWithPath: output).resolvingSymlinksInPath().path.utf8)
        return "\(path)/.\(place.hex.prefix(16))-\(slot).attachment"
    }

    /// Whether the folder has a file for these bytes with the same length; one that a crash cut short does not count.
    func holds(_ body: AttachmentBody) -> Bool { byteCount(of: body.sha256) == body.byteCount }

    /// Length of the file with this digest; nil if there is none.
    func byteCount(of sha256: String) -> Int? {
        var information = stat()
        guard lstat("\(path)/\(AttachmentBody.file(sha256))", &information) == 0,
            information.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        return Int(information.st_size)
    }

    /// Moves a spool's file into the folder unless it is there already; a damaged file is replaced. The spool must not
    /// be used afterwards.
    ///
    /// - Parameter unsynced: Collects the folders that must be synced before the file is referred to.
    func take(_ spool: AttachmentSpool, _ body: AttachmentBody, noting unsynced: UnsyncedFolders) async throws {
        let file = "\(path)/\(body.file)"
        let folder = WholeFile.directory(of: file)
        // Also if the file exists: another run may have just written it.
        unsynced.note(folder)
        if holds(body), await spool.isSame(as: file) { return }
        if !WholeFile.exists(folder) {
            try Self.create(folder)
            for folder in [path, "\(path)/sha256"] { unsynced.note(folder) }
        }
        try await spool.rename(to: file)
    }
}

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

    /// Whether CouchDB may have stored these bytes under this digest, compressed or not.
    func mayHave(_ digest: AttachmentDigest) throws -> Bool {
        try file.seek(to: 0)
        var plain = AttachmentDigest.Calculation.ofCompressedBytes
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty { plain.update(piece) }
        return try plain.digest() == digest || isCompressed(as: digest)
    }

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

/// Folders with new file names that a power cut could undo: the bytes of the files are on disk, their names may not be.
final class UnsyncedFolders: Sendable {
    private let paths = Locked<Set<String>>([])

    func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    /// Syncs all noted folders and forgets them.
    func sync() {
        let noted = paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
        for path in noted { WholeFile.sync(folder: path) }
    }
}
