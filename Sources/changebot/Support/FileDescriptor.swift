internal import Glibc

/// A file descriptor, with complete reads and writes. Does not close it.
struct FileDescriptor {
    static let standardInput = FileDescriptor(number: STDIN_FILENO)
    static let standardOutput = FileDescriptor(number: STDOUT_FILENO)
    static let standardError = FileDescriptor(number: STDERR_FILENO)

    let number: Int32

    /// Writes all bytes, with as many calls as needed.
    ///
    /// - Returns: False on failure; `errno` then has the reason.
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

    /// Reads at most `most` bytes. Empty at the end; nil on failure: `errno` then has the reason.
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
