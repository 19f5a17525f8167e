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
            var interest = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            poll(&interest, 1, -1)
        }
    }
}
