internal import Glibc
internal import Locking
internal import UnixSignals

/// Says when rules and configuration are to be reloaded: at SIGHUP, and when their files change (`--watch`).
///
/// Requests that come while they are being read are one request.
final class ReloadRequests: Sendable {
    /// How often the files are looked at.
    private static let interval: Duration = .seconds(1)

    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let files: Locked<WatchedFiles>

    /// To be made before the files are read: a change from then on is noticed.
    ///
    /// - Parameter files: Files and folders to watch.
    init(files: [String]) {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.files = Locked(WatchedFiles(files))
    }

    /// Returns true when it is time, false if the task is cancelled. For one task at a time.
    func next() async -> Bool {
        for await _ in requests { return true }
        return false
    }

    /// From now on these files are watched.
    ///
    /// - Parameter keepingOthers: Whether those that have been watched still are.
    func watch(_ paths: [String], keepingOthers: Bool = false) {
        files.withLock { files in
            let known = files.paths
            files.watch(keepingOthers ? known + paths.filter { !known.contains($0) } : paths)
        }
    }

    /// Makes each SIGHUP a request, until the task is cancelled. If the terminal of the process is gone, the signal asks
    /// the process to stop, as SIGTERM does.
    func listenForSignals() async {
        let hadTerminal = isatty(STDERR_FILENO) == 1
        let signals = await UnixSignalsSequence(trapping: .sighup)
        if EarlyHangUp.wasReceived { continuation.yield() }
        for await _ in signals {
            if hadTerminal, isatty(STDERR_FILENO) == 0 {
                kill(getpid(), SIGTERM)
            } else {
                continuation.yield()
            }
        }
    }

    /// Makes each change of the files a request, until the task is cancelled. Waits until they have stayed as they are
    /// for a second: an editor may still be writing.
    func watchFiles() async {
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let paths = files.withLock(\.paths)
            let now = FileFingerprint(of: paths)
            if files.withLock({ $0.hasChanged(now, of: paths) }) { continuation.yield() }
        }
    }
}

/// A SIGHUP that comes before anybody listens must not end the process.
enum EarlyHangUp {
    /// Whether one came. Only the signal handler writes it.
    nonisolated(unsafe) private(set) static var wasReceived = false
    /// Whether the process was started to ignore it, as by nohup.
    nonisolated(unsafe) private static var isIgnored = false

    /// To be called before anything else.
    static func keep() {
        let former = signal(SIGHUP) { _ in EarlyHangUp.wasReceived = true }
        isIgnored = former.map { unsafeBitCast($0, to: Int.self) } == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// A one-shot run reloads nothing.
    static func letGo() {
        signal(SIGHUP, isIgnored ? SIG_IGN : SIG_DFL)
        if wasReceived, !isIgnored { kill(getpid(), SIGHUP) }
    }
}

/// Decides when watched files have changed and are whole.
struct WatchedFiles {
    private(set) var paths: [String]
    /// As they were when they were last read.
    private var known: FileFingerprint
    /// As they were when they were last looked at.
    private var last: FileFingerprint

    /// Blocks.
    init(_ paths: [String]) {
        self.paths = paths
        known = FileFingerprint(of: paths)
        last = known
    }

    /// Files that are new here are known as they are now; of the others, changes since they were read still count.
    mutating func watch(_ paths: [String]) {
        let added = FileFingerprint(of: paths.filter { !self.paths.contains($0) })
        known = known.limited(to: paths).with(added)
        last = known
        self.paths = paths
    }

    /// Whether the files have changed since they were read, and stayed as they are since the last call.
    ///
    /// - Parameters:
    ///   - now: As they are.
    ///   - paths: Of which files; if others are watched by now, it says nothing.
    mutating func hasChanged(_ now: FileFingerprint, of paths: [String]) -> Bool {
        guard paths == self.paths else { return false }
        defer { last = now }
        guard now != known, now == last else { return false }
        known = now
        return true
    }
}

/// Tells whether files have changed: their numbers on the disk, sizes, and times of the last modification.
struct FileFingerprint: Equatable {
    private struct Version: Hashable {
        let inode: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    /// For each path that was asked for, what there is: the file, or the folder and the files in it, by their paths.
    private var versions: [String: [String: Version]] = [:]

    /// What can't be read is left out. Blocks.
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

    /// Only of these of its paths.
    func limited(to paths: [String]) -> FileFingerprint {
        var limited = self
        limited.versions = versions.filter { paths.contains($0.key) }
        return limited
    }

    /// With those of other paths.
    func with(_ other: FileFingerprint) -> FileFingerprint {
        var both = self
        both.versions.merge(other.versions) { _, other in other }
        return both
    }
}
