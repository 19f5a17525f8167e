internal import DocumentFlow
internal import Encodings
internal import Foundation

/// Holds a state file for one run: a second one with the same name finds it taken.
///
/// An advisory lock (`flock`) on a file beside the state. The kernel drops it with the process, however that ends.
package final class StateLock: Sendable {
    /// Who only looks whether the lock is held has it for a moment: that must not turn a run away.
    private static let tries = 5
    private static let microsecondsBetweenTries: UInt32 = 20_000

    private let descriptor: Int32

    /// - Throws: ``StateError/locked(holder:)`` if another run has it, with what that run wrote about itself.
    package init(path: String, holder: String) throws(StateError) {
        // O_NOFOLLOW: whoever may write beside the state must not be able to aim this at another file.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path: path, reason: String(cString: strerror(errno))) }
        var triesLeft = Self.tries
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            triesLeft -= 1
            guard triesLeft > 0 else {
                let holder = Self.text(descriptor)
                close(descriptor)
                throw .locked(holder: holder)
            }
            usleep(Self.microsecondsBetweenTries)
        }
        let text = Array(holder.utf8)
        if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Lets the next run have the state, whoever still holds this object.
    func release() { flock(descriptor, LOCK_UN) }

    /// What the run that has the lock wrote about itself; nil if none has it.
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

    /// What another run is told about this one.
    static var thisProcess: String {
        // Not Foundation's host name, which asks the DNS.
        var name = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&name, name.count) == 0
        let host = isKnown ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "?"
        return "pid \(getpid()) on \(host) since \(Timestamp.now)"
    }
}
