internal import DocumentFlow
internal import Glibc
internal import Locking

/// The stdout of the process as the output of `emit`. All runs of a process share it, so that lines stay whole.
actor StandardOutputLines: LineOutput {
    static let shared = StandardOutputLines()

    private let executor = BlockingExecutor("changebot.stdout")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let descriptor: Int32
    /// A pipe that has room takes at least this many bytes.
    private static let pipePortion = Int(PIPE_BUF)
    /// How often a wait for room checks for cancellation, in milliseconds.
    private static let pollInterval: Int32 = 100

    /// - Parameter descriptor: Not closed.
    init(_ descriptor: Int32 = STDOUT_FILENO) { self.descriptor = descriptor }

    /// Waits while a pipe is full, or until the task is cancelled. Syncs a file.
    func append(_ lines: [UInt8]) throws {
        let portion = isFile ? Int.max : Self.pipePortion
        var rest = lines[...]
        while !rest.isEmpty {
            try waitForRoom()
            let count = rest.prefix(portion).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 || errno != EINTR && errno != EAGAIN {
                throw Self.failure(count == 0 ? EIO : errno)
            }
        }
        // A pipe or a terminal can't be synced.
        guard fdatasync(descriptor) == 0 || errno == EINVAL || errno == EROFS else { throw Self.failure(errno) }
    }

    private var isFile: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// A write to a full pipe would block, and cancellation could not end it.
    private func waitForRoom() throws {
        var output = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        repeat { try Task.checkCancellation() } while poll(&output, 1, Self.pollInterval) <= 0
    }

    private static func failure(_ code: Int32) -> RunError {
        let reason = code == EPIPE ? "the reader closed the pipe" : String(cString: strerror(code))
        return RunError(.cannotWrite, "can't write lines of 'emit' to stdout: \(reason)")
    }
}
