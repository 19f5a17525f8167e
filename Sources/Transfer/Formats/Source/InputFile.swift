internal import Glibc

/// A file or stdin, read from beginning to end. Closed with the object.
final class InputFile {
    private static let pieceSize = 256 << 10
    private let descriptor: Int32
    private let isOwned: Bool
    /// Size in bytes; nil if it is not a regular file.
    let size: Int?

    /// - Parameter path: `-` for stdin.
    init(_ path: String) throws(SourceError) {
        isOwned = path != "-"
        descriptor = isOwned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
        guard descriptor >= 0 else { throw Self.error() }
        var status = stat()
        let isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isRegular ? Int(status.st_size) : nil
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// The next piece; nil at the end. Blocks until there is one.
    func read() throws(SourceError) -> [UInt8]? {
        while true {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, initialized in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count > 0 { return piece }
            if count == 0 { return nil }
            if errno != EINTR { throw Self.error() }
        }
    }

    private static func error() -> SourceError {
        SourceError(.unreadable(String(cString: strerror(errno))), at: TextPlace())
    }
}
