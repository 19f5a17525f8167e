internal import Compression
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import Locking
internal import Revisions

/// A folder of attachments, each named by the SHA-256 of its bytes: `sha256/ab/abcdef…`. Equal bytes are stored once,
/// even if many documents have them.
struct AttachmentStore: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// Creates the folder if it is missing. Subfolders are created when first needed.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`.
    func create() throws(TransferError) { try Self.create(path) }

    private static func create(_ folder: String) throws(TransferError) {
        if mkdir(folder, 0o777) == 0 { return }
        if errno == ENOENT, case let parent = FileOperations.directory(of: folder), parent != folder {
            try create(parent)
            if mkdir(folder, 0o777) == 0 { return }
        }
        let reason = String(cString: strerror(errno))
        guard FileOperations.isFolder(folder) else {
            throw TransferError(.cannotCreate, "can't create \(folder): \(reason)")
        }
    }

    /// A file to write to until the digest is known. Reuses the file that an interrupted run left.
    ///
    /// - Parameter slot: A number for each file that is written at the same time.
    func spool(for output: String, slot: Int) throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(path: spoolPath(for: output, slot), directory: path)
    }

    /// Removes a spool's file once nothing writes to it.
    func removeSpool(for output: String, slot: Int) { FileOperations.remove(spoolPath(for: output, slot)) }

    /// The name has a hash of the output's path, because exports with the same file name may share this folder.
    private func spoolPath(for output: String, _ slot: Int) -> String {
        guard output != "-" else { return "\(path)/.stdout-\(getpid())-\(slot).attachment" }
        var place = RunningDigest(.sha256)
        place.update(URL(fileURLWithPath: output).resolvingSymlinksInPath().path.utf8)
        return "\(path)/.\(place.hex.prefix(16))-\(slot).attachment"
    }

    /// Whether the folder has a file for these bytes with the same length. A file that a crash truncated does not
    /// count.
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
        let folder = FileOperations.directory(of: file)
        // Even if the file exists: another run may have just written it.
        unsynced.note(folder)
        if holds(body), await spool.isSame(as: file) { return }
        if !FileOperations.exists(folder) {
            try Self.create(folder)
            for folder in [path, "\(path)/sha256"] { unsynced.note(folder) }
        }
        try await spool.rename(to: file)
    }

    /// Adds a file of another folder unless it is there already: as a link, or as a copy on another file system.
    ///
    /// - Parameters:
    ///   - sha256: The digest in the file's name. The bytes are not checked.
    ///   - unsynced: As for ``take(_:_:noting:)``.
    /// - Throws: ``TransferError``: `.missing` if the other folder does not have it, `.cannotCreate`, `.cannotWrite`.
    func take(_ sha256: String, from other: AttachmentStore, noting unsynced: UnsyncedFolders) throws(TransferError) {
        guard byteCount(of: sha256) != other.byteCount(of: sha256) else { return }
        let name = AttachmentBody.file(sha256)
        let (source, target) = ("\(other.path)/\(name)", "\(path)/\(name)")
        let folder = FileOperations.directory(of: target)
        if !FileOperations.exists(folder) {
            try Self.create(folder)
            for folder in [path, "\(path)/sha256"] { unsynced.note(folder) }
        }
        unsynced.note(folder)
        // A file of another length is damaged.
        FileOperations.remove(target)
        if link(source, target) == 0 { return }
        let input = try OpenFile(reading: source)
        let temporary = target + ".part"
        let output = try OpenFile(creating: temporary)
        try output.truncate(to: 0)
        while case let piece = try input.read(upTo: 256 << 10), !piece.isEmpty { try output.write(piece) }
        try output.sync()
        try FileOperations.rename(temporary, to: target)
    }
}

/// Folders with new file names that a power failure could undo: the files' bytes are on disk, but their names may not
/// be.
final class UnsyncedFolders: Sendable {
    private let paths = Locked<Set<String>>([])

    func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    /// Syncs all noted folders and forgets them.
    func sync() {
        let noted = paths.withLock { paths in
            defer { paths = [] }
            return paths
        }
        for path in noted { FileOperations.sync(folder: path) }
    }
}

extension AttachmentBody {
    /// Its path in a folder of attachments. The first two digits are a subfolder, because a folder of a million files
    /// is slow.
    var file: String { Self.file(sha256) }

    static func file(_ sha256: String) -> String { "sha256/\(sha256.prefix(2))/\(sha256)" }
}
