internal import Dispatch
internal import Glibc
internal import Locking

/// Notices when another process has left an order in a state in a file: that process touches the lock file, which the
/// run holds. So an idle run need not look every few seconds.
///
/// All runs of a process share one instance of inotify, because a user may have few of them.
///
/// - Note: Source: `inotify(7)`. It does not notice what another machine does to a network file system.
final class LockFileWatch: @unchecked Sendable {
    private static let shared = LockFileWatch()

    /// Negative: inotify is not available.
    private let descriptor: Int32
    /// By the numbers of the watches. Each file has one, however often it is watched.
    private let signals = Locked<[Int32: [Signal]]>([:])
    /// Nil: see ``descriptor``. Only kept.
    private let source: (any DispatchSourceRead)?

    private init() {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        source =
            descriptor >= 0 ? DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global()) : nil
        source?.setEventHandler { [weak self] in self?.readEvents() }
        source?.resume()
    }

    private func readEvents() {
        // Which file was touched does not matter: each run looks into its state.
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(descriptor, &buffer, buffer.count) > 0 {}
        for signal in signals.withLock({ $0.values.flatMap(\.self) }) { signal.raise() }
    }

    /// Raises the signal whenever the file is touched, until ``end(_:_:)``.
    ///
    /// - Returns: Identifies the file. Nil: changes can't be noticed.
    static func begin(_ path: String, _ signal: Signal) -> Int32? {
        guard shared.descriptor >= 0 else { return nil }
        return shared.signals.withLock { signals in
            let watch = inotify_add_watch(shared.descriptor, path, UInt32(IN_ATTRIB))
            guard watch >= 0 else { return nil }
            signals[watch, default: []].append(signal)
            return watch
        }
    }

    static func end(_ watch: Int32, _ signal: Signal) {
        shared.signals.withLock { signals in
            signals[watch]?.removeAll { $0 === signal }
            guard signals[watch]?.isEmpty == true else { return }
            signals[watch] = nil
            inotify_rm_watch(shared.descriptor, watch)
        }
    }

    /// Calls `body` now, and again when the file is touched; each minute in any case. Returns when `body` returns false.
    ///
    /// - Parameters:
    ///   - path: Nil: there is no file.
    ///   - interval: How often it is called if the file can't be watched. Nil: each minute.
    /// - Throws: `CancellationError`, what `body` throws.
    static func whileTouched(
        _ path: String?, every interval: Duration?, _ body: () async throws -> Bool
    ) async throws {
        let signal = Signal()
        let watch = path.flatMap { begin($0, signal) }
        defer { if let watch { end(watch, signal) } }
        let interval: Duration = watch == nil ? interval ?? .seconds(60) : .seconds(60)
        while try await body() { try await signal.wait(until: .now + interval) }
    }

    /// Wakes the run that holds the lock file, if there is one.
    static func touch(_ path: String) { utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW) }
}
