internal import Glibc
internal import NIOConcurrencyHelpers

/// Keeps a second gateway, in this process or another, off a database file.
///
/// SQLite would let two gateways write in turn, but neither would hear of the other's changes. The lock is a file
/// beside the database: closing another descriptor of the database itself would end SQLite's own locks (fcntl(2)). It
/// ends with the process, whatever ends that; the file stays.
final class FileLock: Sendable {
    struct Held: Error, CustomStringConvertible {
        var description: String { "another gateway has it open; stop that one, or use its URL" }
    }

    private let descriptor: NIOLockedValueBox<Int32?>

    /// - Throws: ``Held``; a system error if the file beside the database can't be made.
    init(besides path: String) throws {
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let name = (resolved.map { String(cString: $0) } ?? path) + "-lock"
        let descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemFault(errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw Held()
        }
        self.descriptor = NIOLockedValueBox(descriptor)
    }

    deinit { release() }

    /// Lets others have the file.
    func release() {
        let descriptor = descriptor.withLockedValue { held in
            defer { held = nil }
            return held
        }
        guard let descriptor else { return }
        // A child that is just being started may have it too, until it is another program: closing is not enough.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// What the kernel refused.
struct SystemFault: Error, CustomStringConvertible {
    private let code: Int32

    init(_ code: Int32) { self.code = code }

    var description: String { String(cString: strerror(code)) }
}
