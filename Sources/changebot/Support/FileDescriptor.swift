internal import Glibc

/// A descriptor of the system, for whole reads and writes. Does not own it.
struct FileDescriptor {
    static let standardInput = FileDescriptor(number: STDIN_FILENO)
    static let standardOutput = FileDescriptor(number: STDOUT_FILENO)
    static let standardError = FileDescriptor(number: STDERR_FILENO)

    let number: Int32

    /// Writes all bytes, however many calls it takes.
    ///
    /// - Returns: Whether all were written; if not, `errno` says why.
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// The next bytes, at most `most`; empty at the end; nil on failure: then `errno` says why.
    func read(upTo most: Int) -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, initialized in
                count = Glibc.read(number, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count >= 0 { return bytes }
            guard errno == EINTR else { return nil }
        }
    }
}
