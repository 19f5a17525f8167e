internal import Encodings
internal import FoundationEssentials
internal import Glibc

/// An open file whose errors name its path. Closed with the object.
package final class OpenFile {
    package let path: String
    let descriptor: Int32

    /// Opens a regular file for reading and writing. Creates it if it is missing, and keeps its content.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`, also for a symbolic link: a user who may write to the output's
    ///   folder must not be able to redirect it to another file.
    package init(creating path: String) throws(TransferError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw Self.failure(.cannotCreate, "create", path) }
    }

    package init(reading path: String) throws(TransferError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(.missing, "read", path) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT != S_IFDIR else {
            throw TransferError(.missing, "can't read \(path): it is a folder")
        }
    }

    /// Opens a pipe or a device for writing.
    package init(writingTo path: String) throws(TransferError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(.cannotCreate, "open", path) }
    }

    /// A duplicate of the stdout descriptor.
    package static func standardOutput() throws(TransferError) -> OpenFile {
        let descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw TransferError(.cannotWrite, "can't write to stdout: it is closed") }
        return OpenFile(path: "stdout", descriptor: descriptor)
    }

    /// An unnamed temporary file, which disappears when it is closed.
    package init(temporaryIn directory: String) throws(TransferError) {
        var template = Array("\(directory)/changebot-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        path = "a temporary file in \(directory)"
        guard descriptor >= 0 else { throw Self.failure(.cannotCreate, "create", path) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
    }

    /// Takes over an open descriptor.
    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    package var byteCount: Int {
        get throws(TransferError) {
            var information = stat()
            guard fstat(descriptor, &information) == 0 else { throw Self.failure(.missing, "read", path) }
            return Int(information.st_size)
        }
    }

    /// The SHA-256 from the current position to the end, in lowercase hexadecimal.
    package func sha256() throws(TransferError) -> String {
        var digest = RunningDigest(.sha256)
        while case let piece = try read(upTo: 256 << 10), !piece.isEmpty { digest.update(piece) }
        return digest.hex
    }

    /// Locks the file against other runs until it is closed or the process ends. Does not block.
    package func lock() throws(TransferError) {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw TransferError(.locked, "another run is writing \(path); wait for it, or choose another file")
        }
    }

    /// - Throws: ``TransferError``: `.cannotWrite`. Some of the bytes may have been written.
    package func write(_ bytes: some Collection<UInt8>) throws(TransferError) {
        let code: Int32? = bytes.withContiguousStorageIfAvailable { writeAll(UnsafeRawBufferPointer($0)) }
        let failure = code ?? Array(bytes).withUnsafeBytes { writeAll($0) }
        guard failure == 0 else { throw writeFailure(failure) }
    }

    /// Returns 0 or `errno`.
    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count < 0 ? errno : EIO }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
        return 0
    }

    private func writeFailure(_ number: Int32) -> TransferError {
        path == "stdout" && number == EPIPE
            ? TransferError(.cannotWrite, "can't write to stdout: the reader closed the pipe")
            : TransferError(.cannotWrite, "can't write \(path): \(String(cString: strerror(number)))")
    }

    /// Ends what the reader of a socket reads.
    func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The next bytes, at most `limit`; empty at the end.
    package func read(upTo limit: Int) throws(TransferError) -> [UInt8] {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            repeat { count = Glibc.read(descriptor, buffer.baseAddress, limit) } while count < 0 && errno == EINTR
            initialized = max(0, count)
        }
        guard count >= 0 else { throw Self.failure(.missing, "read", path) }
        return bytes
    }

    package func seek(to place: Int) throws(TransferError) {
        guard lseek(descriptor, place, SEEK_SET) == place else { throw Self.failure(.cannotWrite, "read", path) }
    }

    /// Truncates the file to `count` bytes; the next write appends.
    package func truncate(to count: Int) throws(TransferError) {
        guard ftruncate(descriptor, count) == 0 else { throw Self.failure(.cannotWrite, "write", path) }
        try seek(to: count)
    }

    /// Returns once all writes are on disk. Does nothing for files that can't be synced, such as pipes.
    package func sync() throws(TransferError) {
        guard fdatasync(descriptor) == 0 || errno == EINVAL || errno == EROFS else {
            throw Self.failure(.cannotWrite, "write", path)
        }
    }

    private static func failure(_ code: TransferError.Code, _ verb: String, _ path: String) -> TransferError {
        TransferError(code, "can't \(verb) \(path): \(FileOperations.obstacle(errno, to: path))")
    }
}
