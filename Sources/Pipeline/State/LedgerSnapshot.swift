internal import FoundationEssentials
internal import GRDB
internal import Glibc

/// Copies a state for a dry run, which must not touch it: even opening a file to read it makes SQLite create others
/// beside it.
enum LedgerSnapshot {
    private static let tries = 5

    /// A copy of the current state, migrated. SQLite moves it to a temporary file of its own when it grows large.
    static func take(_ files: StateFiles) throws -> DatabaseQueue {
        let copy = try copy(files)
        try LedgerSchema.migrate(copy)
        return copy
    }

    /// A copy of the current state as it is, whatever its version.
    static func copy(_ files: StateFiles) throws -> DatabaseQueue {
        let copy = try DatabaseQueue(path: "")
        // While a run is active its files can't be copied, since part of the data is in shared memory. But the files
        // that SQLite would create exist already.
        if StateLock.holder(path: files.lock) != nil {
            try readLive(files.database, into: copy)
        } else if try !readCopied(files.database, into: copy) {
            try readLive(files.database, into: copy)
        }
        return copy
    }

    private static func readLive(_ path: String, into copy: DatabaseQueue) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Ledger.busyTimeout)
        let live = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? live.close() }
        try live.backup(to: copy)
    }

    /// - Returns: False if the files keep changing.
    private static func readCopied(_ path: String, into copy: DatabaseQueue) throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.path + "/changebot-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let target = folder + "/state.sqlite"
        for _ in 0..<tries {
            let before = [try Version(path), try Version(path + "-wal")]
            for suffix in ["", "-wal"] {
                try? FileManager.default.removeItem(atPath: target + suffix)
                guard try StateFiles.isRegularFile(path + suffix) else { continue }
                // If it is gone now, it has changed.
                do { try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix) } catch {
                    if try StateFiles.isRegularFile(path + suffix) { throw error }
                }
            }
            guard before == [try Version(path), try Version(path + "-wal")] else { continue }
            let file = try DatabaseQueue(path: target)
            defer { try? file.close() }
            try file.backup(to: copy)
            return true
        }
        return false
    }

    /// Differs if the file was written to.
    private struct Version: Equatable {
        private var size: off_t = 0
        private var seconds = 0
        private var nanoseconds = 0

        init(_ path: String) throws(StateError) {
            guard try StateFiles.isRegularFile(path) else { return }
            var information = stat()
            guard stat(path, &information) == 0 else { return }
            size = information.st_size
            seconds = information.st_mtim.tv_sec
            nanoseconds = information.st_mtim.tv_nsec
        }
    }
}
