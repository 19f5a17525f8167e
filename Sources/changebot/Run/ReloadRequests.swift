internal import Glibc
internal import Locking
internal import UnixSignals

/// Tells when to reload rules and configuration: on SIGHUP, and when their files change (`--watch`).
///
/// Requests that arrive during a reload are combined into one.
final class ReloadRequests: Sendable {
    /// How often the files are checked.
    private static let interval: Duration = .seconds(1)

    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let files: Locked<WatchedFiles>

    /// Create it before the files are read: it notices changes from then on.
    ///
    /// - Parameter files: Files and folders to watch.
    init(files: [String]) {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.files = Locked(WatchedFiles(files))
    }

    /// Waits for a request. Returns false if the task is cancelled. Only one task at a time may call it.
    func next() async -> Bool {
        for await _ in requests { return true }
        return false
    }

    /// Watches these files from now on.
    ///
    /// - Parameter keepingOthers: Whether to keep watching the files that were watched before.
    func watch(_ paths: [String], keepingOthers: Bool = false) {
        files.withLock { files in
            let known = files.paths
            files.watch(keepingOthers ? known + paths.filter { !known.contains($0) } : paths)
        }
    }

    /// Turns each SIGHUP into a request, until the task is cancelled. If the terminal of the process has been closed,
    /// the signal stops the process like SIGTERM.
    func listenForSignals() async {
        let hasTerminal = isatty(STDERR_FILENO) == 1
        let signals = await UnixSignalsSequence(trapping: .sighup)
        if EarlyHangup.wasReceived { continuation.yield() }
        for await _ in signals {
            if hasTerminal, isatty(STDERR_FILENO) == 0 {
                kill(getpid(), SIGTERM)
            } else {
                continuation.yield()
            }
        }
    }

    /// Turns each change of the files into a request, until the task is cancelled. Waits until the files have been
    /// unchanged for a second: an editor may still be writing.
    func watchFiles() async {
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let paths = files.withLock(\.paths)
            let now = FileFingerprint(of: paths)
            if files.withLock({ $0.hasChanged(now, of: paths) }) { continuation.yield() }
        }
    }
}

/// Keeps a SIGHUP that arrives before ``ReloadRequests`` listens, which would otherwise end the process.
enum EarlyHangup {
    /// Whether SIGHUP was received. Only the signal handler writes it.
    nonisolated(unsafe) private(set) static var wasReceived = false
    /// Whether the process was started with SIGHUP ignored, for example by nohup.
    nonisolated(unsafe) private static var isIgnored = false

    /// Call it before anything else.
    static func install() {
        let former = signal(SIGHUP) { _ in EarlyHangup.wasReceived = true }
        isIgnored = former.map { unsafeBitCast($0, to: Int.self) } == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Restores the former handling of SIGHUP, for one-shot runs, which never reload.
    static func restore() {
        signal(SIGHUP, isIgnored ? SIG_IGN : SIG_DFL)
        if wasReceived, !isIgnored { kill(getpid(), SIGHUP) }
    }
}

/// Decides when watched files have changed and are complete.
struct WatchedFiles {
    private(set) var paths: [String]
    /// The files when they were last read.
    private var known: FileFingerprint
    /// The files when they were last checked.
    private var last: FileFingerprint

    /// Blocks.
    init(_ paths: [String]) {
        self.paths = paths
        known = FileFingerprint(of: paths)
        last = known
    }

    /// Watches these files instead. Newly added files count as read now; for the others, changes since they were read
    /// still count.
    mutating func watch(_ paths: [String]) {
        let added = FileFingerprint(of: paths.filter { !self.paths.contains($0) })
        known = known.limited(to: paths).with(added)
        last = known
        self.paths = paths
    }

    /// Whether the files have changed since they were read, but not since the last call.
    ///
    /// - Parameters:
    ///   - now: The files now.
    ///   - paths: The files that `now` describes. If others are watched by now, the result is false.
    mutating func hasChanged(_ now: FileFingerprint, of paths: [String]) -> Bool {
        guard paths == self.paths else { return false }
        defer { last = now }
        guard now != known, now == last else { return false }
        known = now
        return true
    }
}

/// Detects changes of files by their inodes, sizes and modification times.
struct FileFingerprint: Equatable {
    private struct Version: Hashable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    /// For each requested path, the file, or the folder with its files, by their paths.
    private var versions: [String: [String: Version]] = [:]

    /// Ignores files that can't be read. Blocks.
    init(of paths: [String]) {
        for path in paths {
            var found: [String: Version] = [:]
            found[path] = Self.version(path)
            if let folder = opendir(path) {
                while let entry = readdir(folder) {
                    let name = withUnsafePointer(to: &entry.pointee.d_name) {
                        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                    }
                    if !name.hasPrefix(".") { found[path + "/" + name] = Self.version(path + "/" + name) }
                }
                closedir(folder)
            }
            versions[path] = found
        }
    }

    private static func version(_ path: String) -> Version? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Version(
            inode: UInt(status.st_ino), size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }

    /// The fingerprint of only these paths.
    func limited(to paths: [String]) -> FileFingerprint {
        var limited = self
        limited.versions = versions.filter { paths.contains($0.key) }
        return limited
    }

    /// This fingerprint combined with one of other paths.
    func with(_ other: FileFingerprint) -> FileFingerprint {
        var both = self
        both.versions.merge(other.versions) { _, other in other }
        return both
    }
}
