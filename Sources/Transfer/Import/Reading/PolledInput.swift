internal import Glibc
internal import Locking

/// Stdin or a pipe, whose reader can be stopped while it waits for input.
final class PolledInput {
    /// How often it checks whether to stop.
    private static let milliseconds: Int32 = 200

    private let descriptor: InputDescriptor
    private let isStopped: Locked<Bool>

    /// - Parameter path: `-` for stdin.
    init(_ path: String, isStopped: Locked<Bool>) throws(SourceError) {
        // Opening a pipe without a writer would block and could not be stopped.
        descriptor = try InputDescriptor(path, flags: O_NONBLOCK)
        self.isStopped = isStopped
    }

    /// The next piece; nil at the end or when stopped.
    func read() throws(SourceError) -> [UInt8]? {
        while !isStopped.withLock({ $0 }) {
            var interest = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            guard poll(&interest, 1, Self.milliseconds) > 0, let piece = try descriptor.read() else { continue }
            return piece.isEmpty ? nil : piece
        }
        return nil
    }
}
