internal import Glibc
internal import NIOConcurrencyHelpers

/// Prevents a second gateway, in this process or another, from opening a database file.
///
/// SQLite would let two gateways write alternately, but neither would notice the other's changes. The lock is a
/// separate file, because closing another descriptor of the database itself would release SQLite's own locks
/// (fcntl(2)). The lock always ends with the process; the file remains.
final class FileLock: Sendable {
    struct AlreadyLocked: Error, CustomStringConvertible {
        var description: String { "another gateway has it open; stop that one, or use its URL" }
    }

    private let descriptor: NIOLockedValueBox<Int32?>

    /// - Throws: ``AlreadyLocked``, or a system error if the lock file can't be created.
    init(nextTo path: String) throws {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let name = (resolved.map { String(cString: $0) } ?? path) + "-lock"
        let descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw AlreadyLocked()
        }
        self.descriptor = NIOLockedValueBox(descriptor)
    }

    deinit { release() }

    /// Releases the lock.
    func release() {
        let descriptor = descriptor.withLockedValue { held in
            defer { held = nil }
            return held
        }
        guard let descriptor else { return }
        // A child process between fork and exec may also hold the descriptor, so closing it is not enough.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// A system call failed.
struct SystemError: Error, CustomStringConvertible {
    private let code: Int32

    init(_ code: Int32) { self.code = code }

    var description: String { String(cString: strerror(code)) }
}
