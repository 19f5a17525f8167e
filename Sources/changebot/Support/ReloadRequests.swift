internal import Glibc
internal import Locking
internal import UnixSignals

/// Says when rules and configuration are to be read anew: at SIGHUP, and when their files change (`--watch`).
///
/// Requests that come while they are being read are one request.
final class ReloadRequests: Sendable {
    /// How often the files are looked at.
    private static let interval: Duration = .seconds(1)

    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let files: Locked<[String]>

    /// - Parameter files: Files and folders to watch.
    init(files: [String]) {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.files = Locked(files)
    }

    /// Returns true when it is time, false if the task is cancelled. For one task at a time.
    func next() async -> Bool {
        for await _ in requests { return true }
        return false
    }

    /// From now on these files are watched.
    func watch(_ files: [String]) { self.files.withLock { $0 = files } }

    /// Until somebody listens, a SIGHUP asks for what is being done anyway, and must not end the process.
    static func ignoreSignals() { signal(SIGHUP, SIG_IGN) }

    /// Makes each SIGHUP a request, until the task is cancelled. If the terminal of the process is gone, the signal asks
    /// the process to stop, as SIGTERM does.
    func listenForSignals() async {
        let hadTerminal = isatty(STDERR_FILENO) == 1
        for await _ in await UnixSignalsSequence(trapping: .sighup) {
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
        var known = FileFingerprint(of: files.withLock { $0 })
        var last = known
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let now = FileFingerprint(of: files.withLock { $0 })
            if now != known, now == last {
                known = now
                continuation.yield()
            }
            last = now
        }
    }
}

/// Tells whether files have changed: names, sizes, and times of the last modification.
struct FileFingerprint: Equatable {
    private struct Entry: Hashable {
        let path: String
        let number: UInt
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    private var entries: Set<Entry> = []

    /// Folders with the files in them. What can't be read is left out. Blocks.
    init(of paths: [String]) {
        for path in paths {
            add(path)
            guard let folder = opendir(path) else { continue }
            defer { closedir(folder) }
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if !name.hasPrefix(".") { add(path + "/" + name) }
            }
        }
    }

    private mutating func add(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        entries.insert(
            Entry(
                path: path, number: UInt(status.st_ino), size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec))
    }
}
