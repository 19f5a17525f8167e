internal import BotState
internal import DocumentFlow
internal import Encodings
internal import Glibc
internal import Locking
internal import Logging
internal import Rules

/// A file to which rules emit lines, shared by all writers of a run.
///
/// Other processes and runs may append to the same file, so it is locked (`flock`) for each batch of lines. If a crash left
/// a truncated last line, the line is removed before the next write. Its change was not finished, so it is emitted again.
/// A file that was renamed, removed or truncated, as by logrotate, is opened again.
actor LineFile: LineOutput {
    /// Tells files apart independently of their paths.
    private struct Identity: Equatable {
        let device: UInt
        let number: UInt

        init(_ status: stat) { (device, number) = (UInt(status.st_dev), UInt(status.st_ino)) }
    }

    private static let lockAttempts = 500
    private static let microsecondsBetweenAttempts: UInt32 = 20_000
    /// The size of the parts in which the end of the last line is searched.
    private static let searchedBytes = 64 << 10

    /// The path without links.
    nonisolated let path: String
    private let rotation: EmitRotation?
    private let rotated: RotatedName
    private let logger: Logger
    /// Seconds since 1970.
    private let now: @Sendable () -> Int
    private var descriptor: Int32
    /// The size after this run's last write. Nil: this run has not written.
    private var knownSize: Int?
    /// When the last line was written, in seconds since 1970.
    private var lastWrite = 0

    private let executor = BlockingExecutor("changebot.emit")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens or creates the file (0600), and removes a truncated last line.
    ///
    /// - Parameter path: Without links: see ``LineOutputs``.
    /// - Throws: `RunError`: `.cannotCreate`; `.gaveUp` if another process keeps it locked.
    init(
        _ path: String, _ rotation: EmitRotation?, logger: Logger, now: @escaping @Sendable () -> Int
    ) throws(RunError) {
        self.path = path
        self.rotation = rotation
        self.logger = logger
        self.now = now
        rotated = RotatedName(of: FilePath.name(of: path))
        descriptor = try Self.open(path)
        do throws(RunError) {
            try Self.lock(descriptor, path)
            _ = try Self.endAfterLastLine(descriptor, path, logger)
            flock(descriptor, LOCK_UN)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    /// Writes and syncs once. Waits at most ten seconds while another process writes.
    func append(_ lines: [UInt8]) throws(RunError) {
        guard !lines.isEmpty else { return }
        try lockCurrentFile()
        defer { flock(descriptor, LOCK_UN) }
        var size = try Self.endAfterLastLine(descriptor, path, logger)
        if size != knownSize { lastWrite = Self.status(descriptor)?.st_mtim.tv_sec ?? 0 }
        while let time = rotationTime(size: size, adding: lines.count) {
            try rotate(at: time)
            // Another process may have created the new file and written to it.
            size = try Self.endAfterLastLine(descriptor, path, logger)
            lastWrite = Self.status(descriptor)?.st_mtim.tv_sec ?? 0
        }
        guard let failure = write(lines) else {
            (knownSize, lastWrite) = (size + lines.count, now())
            return
        }
        // The next run writes all of these lines again, so none may stay.
        ftruncate(descriptor, size)
        knownSize = nil
        throw RunError(
            .cannotWrite,
            "can't write \(path), a file of 'emit': \(failure); free some space, then start again: nothing is lost")
    }

    /// Writes and syncs the lines.
    ///
    /// - Returns: The error. Nil: the lines are on disk.
    private func write(_ lines: [UInt8]) -> String? {
        var rest = lines[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return String(cString: strerror(count < 0 ? errno : EIO)) }
            rest = rest.dropFirst(count)
        }
        guard fdatasync(descriptor) == 0 else { return String(cString: strerror(errno)) }
        DurableStep.lines(path: path, lines).note()
        return nil
    }

    // MARK: - The open file

    /// Locks the file that the path names now.
    private func lockCurrentFile() throws(RunError) {
        while true {
            try Self.lock(descriptor, path)
            var there = stat()
            if let open = Self.status(descriptor), lstat(path, &there) == 0, Identity(open) == Identity(there) {
                return
            }
            let new = try Self.open(path)
            // This also releases the lock.
            close(descriptor)
            descriptor = new
            knownSize = nil
        }
    }

    /// Checks whether the file can be opened or created, and rotated. Changes nothing.
    ///
    /// - Parameter path: Without links: see ``LineOutputs``.
    /// - Throws: `RunError`: `.cannotCreate`; `.cannotWrite` if it can't be rotated.
    static func check(_ path: String, _ rotation: EmitRotation?) throws(RunError) {
        var there = stat()
        let exists = lstat(path, &there) == 0
        if exists {
            switch there.st_mode & S_IFMT {
            case S_IFREG: break
            case S_IFLNK: throw cannotOpen(path, linkReason)
            case S_IFDIR: throw cannotOpen(path, String(cString: strerror(EISDIR)))
            default: throw cannotOpen(path, deviceReason)
            }
            guard access(path, R_OK | W_OK) == 0 else { throw cannotOpen(path, String(cString: strerror(errno))) }
        }
        guard !exists || rotation != nil, let reason = FolderProbe.writeFailure(FilePath.folder(of: path)) else {
            return
        }
        throw exists ? cannotRename(path, rotated: "another name", reason) : cannotOpen(path, reason)
    }

    private static func open(_ path: String) throws(RunError) -> Int32 {
        // O_NOFOLLOW: a link that is planted here must not redirect the lines to another file.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw cannotOpen(path, errno == ELOOP ? linkReason : String(cString: strerror(errno)))
        }
        guard let status = status(descriptor), status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw cannotOpen(path, deviceReason)
        }
        // Syncs the folder too, so that a new file with synced lines survives a power cut.
        if status.st_size == 0 { FilePath.sync(folder: FilePath.folder(of: path)) }
        return descriptor
    }

    private static let linkReason = "it is a link to a missing file"
    private static let deviceReason = "it is a pipe or a device; name a regular file, or - for stdout"

    private static func cannotOpen(_ path: String, _ reason: String) -> RunError {
        RunError(
            .cannotCreate,
            "can't open \(path), a file of 'emit': \(reason); choose another path, or make it writable for this user")
    }

    private static func lock(_ descriptor: Int32, _ path: String) throws(RunError) {
        for _ in 0..<lockAttempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            // This file system has no locks, so no other process holds one either.
            guard errno == EWOULDBLOCK || errno == EINTR else { return }
            usleep(microsecondsBetweenAttempts)
        }
        throw RunError(
            .gaveUp, "another process has locked \(path), a file of 'emit'; stop it, or choose another path")
    }

    private static func status(_ descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }

    /// Removes a truncated last line.
    ///
    /// - Returns: The new size of the file.
    private static func endAfterLastLine(_ descriptor: Int32, _ path: String, _ logger: Logger) throws(RunError) -> Int
    {
        guard let status = status(descriptor) else { throw cannotOpen(path, String(cString: strerror(errno))) }
        let size = Int(status.st_size)
        guard size > 0, let end = endOfLastLine(descriptor, size), end < size else { return size }
        guard ftruncate(descriptor, end) == 0 else { throw cannotOpen(path, String(cString: strerror(errno))) }
        logger.notice(
            "removed a truncated last line from a file of 'emit'; its change will be processed again",
            metadata: [LogKey.file: "\(path)", LogKey.bytes: "\(size - end)"])
        return end
    }

    /// Nil if the file can't be read.
    private static func endOfLastLine(_ descriptor: Int32, _ size: Int) -> Int? {
        var end = size
        // Usually the last byte is the line feed.
        var length = 1
        while end > 0 {
            var bytes = [UInt8](repeating: 0, count: min(length, end))
            guard pread(descriptor, &bytes, bytes.count, end - bytes.count) == bytes.count else { return nil }
            if let feed = bytes.lastIndex(of: UInt8(ascii: "\n")) { return end - bytes.count + feed + 1 }
            end -= bytes.count
            length = searchedBytes
        }
        return 0
    }

    // MARK: - Rotation

    /// The time for the rotated file's name. Nil if the file is not rotated now.
    private func rotationTime(size: Int, adding count: Int) -> Int? {
        guard let rotation, size > 0 else { return nil }
        if let length = rotation.every?.length {
            let end = (lastWrite / length + 1) * length
            if now() >= end { return end }
        }
        if let limit = rotation.size, size + count > limit { return now() }
        return nil
    }

    /// Renames the file, and creates a new one.
    ///
    /// - Parameter time: The time for the name. Raised by a second while a file of that name exists.
    private func rotate(at time: Int) throws(RunError) {
        let folder = FilePath.folder(of: path)
        var time = time
        while access(FilePath.join(folder, rotated.name(at: time)), F_OK) == 0 { time += 1 }
        let name = rotated.name(at: time)
        guard rename(path, FilePath.join(folder, name)) == 0 else {
            throw Self.cannotRename(path, rotated: name, String(cString: strerror(errno)))
        }
        FilePath.sync(folder: folder)
        try lockCurrentFile()
        removeOldest(in: folder)
    }

    private static func cannotRename(_ path: String, rotated name: String, _ reason: String) -> RunError {
        RunError(
            .cannotWrite,
            "can't rename \(path), a file of 'emit', to \(name): \(reason); give this user write access to its folder")
    }

    private func removeOldest(in folder: String) {
        guard let keep = rotation?.keep else { return }
        let names = FilePath.names(in: folder).filter(rotated.includes)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names.dropLast(keep) where unlink(FilePath.join(folder, name)) != 0 {
            logger.warning(
                "a rotated file of 'emit' can't be removed",
                metadata: [LogKey.file: "\(name)", LogKey.reason: "\(String(cString: strerror(errno)))"])
        }
    }
}
