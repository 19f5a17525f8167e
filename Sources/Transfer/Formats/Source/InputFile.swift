internal import Glibc

/// A file or stdin, read from beginning to end. Closed with the object.
final class InputFile {
    private let descriptor: InputDescriptor
    /// Size in bytes; nil if it is not a regular file.
    let size: Int?

    /// - Parameter path: `-` for stdin.
    init(_ path: String) throws(SourceError) {
        descriptor = try InputDescriptor(path)
        var status = stat()
        let isRegular = fstat(descriptor.number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isRegular ? Int(status.st_size) : nil
    }

    /// The next piece; nil at the end. Blocks until there is one.
    func read() throws(SourceError) -> [UInt8]? {
        while true {
            if let piece = try descriptor.read() { return piece.isEmpty ? nil : piece }
            // Interrupted, or a stdin that another program made non-blocking.
            var pollRequest = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&pollRequest, 1, -1)
        }
    }
}

/// A file, a pipe or stdin, open for reading. Closed with the object, unless it is stdin.
final class InputDescriptor {
    private static let pieceSize = 256 << 10

    let number: Int32
    private let isOwned: Bool

    /// - Parameters:
    ///   - path: `-` for stdin.
    ///   - flags: Besides `O_RDONLY` and `O_CLOEXEC`; not for stdin.
    /// - Throws: ``SourceError``: `.unreadable`.
    init(_ path: String, flags: Int32 = 0) throws(SourceError) {
        isOwned = path != "-"
        number = isOwned ? open(path, O_RDONLY | O_CLOEXEC | flags) : STDIN_FILENO
        guard number >= 0 else { throw Self.error() }
    }

    deinit {
        if isOwned { close(number) }
    }

    /// The next piece; empty at the end. Nil if it was interrupted, or if there is nothing yet and it may not block.
    ///
    /// - Throws: ``SourceError``: `.unreadable`.
    func read() throws(SourceError) -> [UInt8]? {
        var count = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, initialized in
            count = Glibc.read(number, buffer.baseAddress, buffer.count)
            initialized = max(count, 0)
        }
        if count >= 0 { return piece }
        guard errno == EINTR || errno == EAGAIN else { throw Self.error() }
        return nil
    }

    private static func error() -> SourceError {
        SourceError(.unreadable(String(cString: strerror(errno))), at: TextPlace())
    }
}
