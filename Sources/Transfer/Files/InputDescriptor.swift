internal import Glibc

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
