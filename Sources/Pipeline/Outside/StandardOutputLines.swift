internal import DocumentFlow
internal import Glibc
internal import Locking

/// The stdout of the process as the output of `emit`. All runs of a process share it, so that lines stay whole.
actor StandardOutputLines: LineOutput {
    static let shared = StandardOutputLines()

    private let executor = BlockingExecutor("changebot.stdout")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Waits as long as the reader of a full pipe takes. A file is synced.
    func append(_ lines: [UInt8]) throws(RunError) {
        var rest = lines[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var stdout = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&stdout, 1, -1)
            } else if count == 0 || errno != EINTR {
                throw Self.failure(count == 0 ? EIO : errno)
            }
        }
        // A pipe or a terminal can't be synced.
        guard fdatasync(STDOUT_FILENO) == 0 || errno == EINVAL || errno == EROFS else { throw Self.failure(errno) }
    }

    private static func failure(_ code: Int32) -> RunError {
        let reason = code == EPIPE ? "its reader has closed it" : String(cString: strerror(code))
        return RunError(.cannotWrite, "can't write lines of 'emit' to stdout: \(reason)")
    }
}
