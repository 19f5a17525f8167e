internal import Glibc
internal import Locking

/// Stdin or a pipe, whose reader can be stopped while it waits for input.
final class PolledInput {
    private static let pieceSize = 256 << 10
    /// How often it checks whether to stop.
    private static let milliseconds: Int32 = 200

    private let descriptor: Int32
    private let isOwned: Bool
    private let isStopped: Locked<Bool>

    /// - Parameter path: `-` for stdin.
    init(_ path: String, isStopped: Locked<Bool>) throws(SourceError) {
        isOwned = path != "-"
        // Opening a pipe without a writer would block and could not be stopped.
        descriptor = isOwned ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO
        self.isStopped = isStopped
        guard descriptor >= 0 else { throw Self.error() }
    }

    deinit {
        if isOwned { close(descriptor) }
    }

    /// The next piece; nil at the end or when stopped.
    func read() throws(SourceError) -> [UInt8]? {
        while !isStopped.withLock({ $0 }) {
            var interest = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&interest, 1, Self.milliseconds) > 0 else { continue }
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, initialized in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                initialized = max(count, 0)
            }
            if count > 0 { return piece }
            if count == 0 { return nil }
            if errno != EINTR, errno != EAGAIN { throw Self.error() }
        }
        return nil
    }

    private static func error() -> SourceError {
        SourceError(.unreadable(String(cString: strerror(errno))), at: TextPlace())
    }
}
