internal import Glibc

/// Reads whole files that are small, such as a document or a configuration.
enum InputLines {
    private static let chunkSize = 256 << 10
    /// The maximum size of a file: 128 MiB, more than any document.
    private static let limit = 128 << 20

    /// The content of a file or of stdin, without a byte order mark.
    ///
    /// - Parameter path: A file, or `-` for stdin.
    /// - Throws: ``CommandError`` with 66 if it can't be read, 65 if it is longer than 128 MiB.
    static func whole(_ path: String) throws(CommandError) -> [UInt8] {
        let input = path == "-" ? .standardInput : try open(path)
        defer { if path != "-" { close(input.number) } }
        var bytes: [UInt8] = []
        while case let piece = try read(input, path), !piece.isEmpty {
            bytes += piece
            guard bytes.count <= limit else {
                throw CommandError(
                    .invalidData, "\(path) is larger than the largest possible document; name a file with one document")
            }
        }
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    private static func open(_ path: String) throws(CommandError) -> FileDescriptor {
        var facts = stat()
        guard stat(path, &facts) == 0 else {
            throw CommandError(.missingInput, "\(path) does not exist; correct the path")
        }
        guard facts.st_mode & S_IFMT != S_IFDIR else {
            throw CommandError(.missingInput, "\(path) is a folder; name a file in it")
        }
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw CommandError(.missingInput, "can't read \(path); correct its permissions") }
        return FileDescriptor(number: number)
    }

    private static func read(_ input: FileDescriptor, _ path: String) throws(CommandError) -> [UInt8] {
        if let piece = input.read(upTo: chunkSize) { return piece }
        throw CommandError(.missingInput, "can't read \(path): \(String(cString: strerror(errno)))")
    }
}
