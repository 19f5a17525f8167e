internal import FoundationEssentials
internal import Glibc

/// Lets one process at a time choose and open a state in a directory. Held for milliseconds only.
///
/// An advisory lock (`flock`) on the directory itself: it leaves no file behind.
final class StateDirectoryLock {
    private static let tries = 250
    private static let microsecondsBetweenTries: UInt32 = 20_000

    private let descriptor: Int32

    /// - Throws: ``StateError``: `.locked` if another process holds it for five seconds; `.cannotCreate`.
    init(_ directory: String) throws(StateError) {
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotCreate(path: directory, reason: String(cString: strerror(errno))) }
        var triesLeft = Self.tries
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Some network file systems can't lock directories: go on without.
            guard errno == EWOULDBLOCK || errno == EINTR else { return }
            triesLeft -= 1
            guard triesLeft > 0 else {
                // Closed by deinit.
                throw .locked(holder: "another process has been opening a state in \(directory) for a long time")
            }
            usleep(Self.microsecondsBetweenTries)
        }
    }

    deinit { close(descriptor) }
}
