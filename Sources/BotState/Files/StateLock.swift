internal import DocumentFlow
internal import Encodings
internal import FoundationEssentials
internal import Glibc

/// Locks a state for one run, so that a second run with the same name fails.
///
/// An advisory lock (`flock`) on a file next to the state. The kernel releases it when the process ends in any way.
package final class StateLock: Sendable {
    /// A process that only checks whether the lock is held takes it for a moment. Several attempts prevent this from
    /// failing a run.
    private static let maxAttempts = 5
    private static let microsecondsBetweenAttempts: UInt32 = 20_000

    private let descriptor: Int32

    /// - Parameter holder: Written into the file, for other processes that find it locked.
    /// - Throws: ``StateError/locked(holder:)`` with the other run's `holder`;
    ///   ``StateError/cannotCreate(path:reason:)``.
    init(path: String, holder: String) throws(StateError) {
        // O_NOFOLLOW: a planted link must not redirect this to another file.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path: path, reason: String(cString: strerror(errno))) }
        var attemptsLeft = Self.maxAttempts
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            attemptsLeft -= 1
            guard attemptsLeft > 0 else {
                let holder = Self.text(descriptor)
                close(descriptor)
                throw .locked(holder: holder)
            }
            usleep(Self.microsecondsBetweenAttempts)
        }
        let text = Array(holder.utf8)
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Releases the lock, even if this object is still referenced.
    func release() { flock(descriptor, LOCK_UN) }

    /// What the run that holds the lock wrote into the file; nil if no run holds it.
    static func holder(path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? nil : text(descriptor)
    }

    private static func text(_ descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = pread(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    /// How this process describes itself to others; constant.
    package static let thisProcess = describeProcess()

    /// - Parameter time: The start time in the description.
    static func describeProcess(since time: String = Timestamp.now) -> String {
        // Foundation's host name would query the DNS.
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&name, name.count) == 0
        let host = isKnown ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "?"
        return "pid \(getpid()) on \(host) since \(time)"
    }
}

/// Lets one process at a time choose and open a state in a directory. Held for milliseconds only.
///
/// An advisory lock (`flock`) on the directory itself: it leaves no file behind.
final class StateDirectoryLock {
    private static let maxAttempts = 250
    private static let microsecondsBetweenAttempts: UInt32 = 20_000

    private let descriptor: Int32

    /// - Throws: ``StateError``: `.locked` if another process holds it for five seconds; `.cannotCreate`.
    init(_ directory: String) throws(StateError) {
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotCreate(path: directory, reason: String(cString: strerror(errno))) }
        var attemptsLeft = Self.maxAttempts
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            // Some network file systems can't lock directories: continue without the lock.
            guard errno == EWOULDBLOCK || errno == EINTR else { return }
            attemptsLeft -= 1
            guard attemptsLeft > 0 else {
                // Closed by deinit.
                throw .locked(holder: "another process has locked the state folder \(directory)")
            }
            usleep(Self.microsecondsBetweenAttempts)
        }
    }

    deinit { close(descriptor) }
}
