internal import Foundation
internal import GRDB

/// What a bot remembers between runs, in one SQLite file: checkpoints, its own revisions, dead letters.
///
/// Bound to one gateway and keyspace. The file is 0600; a directory that has to be made is 0700. Every write is a
/// transaction that is on disk (WAL, `synchronous=FULL`) when the call returns; killing the process between two calls
/// loses neither. A disk that is full fails the call and leaves everything as it was.
package final class Ledger: Sendable {
    /// What another process may be doing with the state meanwhile.
    package enum Access: Sendable {
        /// Nothing: this one holds the lock.
        case alone
        /// A run may be at work, as far as the two don't get into each other's way.
        case beside
        /// Anything. What is to be remembered is forgotten.
        case preview
    }

    let database: DatabaseQueue
    let path: String
    let access: Access
    let ruleSetHash: String
    /// What tells this run from others in the history of checkpoints.
    let run = StateLock.thisProcess
    private let lock: StateLock?

    /// Opens or creates the state `NAME` in `directory`, and holds its lock until ``close()`` or the end of the process.
    ///
    /// - Throws: ``StateError``: `.locked` if another run has it, `.foreign` if it belongs to another gateway.
    package init(directory: String, name: String, gateway: String, ruleSetHash: String) throws(StateError) {
        let files = StateFiles(directory: directory, name: name)
        try files.createDirectory()
        lock = try StateLock(path: files.lock, holder: StateLock.thisProcess)
        path = files.database
        access = .alone
        self.ruleSetHash = ruleSetHash
        let isOld = try files.create()
        do {
            database = try Self.open(path)
            try LedgerSchema.migrate(database)
        } catch {
            throw isOld ? .reading(path, error) : .creating(path, error)
        }
        try bind(to: gateway)
    }

    /// Opens the state `NAME` if there is one; nil if not.
    ///
    /// - Parameters:
    ///   - gateway: The one that it must belong to. Nil: any.
    ///   - ruleSetHash: Needed for what is remembered of rules. Empty: of none.
    ///   - access: `.beside` or `.alone`.
    /// - Throws: ``StateError``: `.locked` if a run has it and it is to be had alone; also if it is of an older form,
    ///   which nobody can change below a run. `.foreign` if it belongs to another gateway.
    package init?(
        existing directory: String, name: String, gateway: String? = nil, ruleSetHash: String = "", access: Access
    ) throws(StateError) {
        let files = StateFiles(directory: directory, name: name)
        guard try files.exists() else { return nil }
        path = files.database
        self.access = access
        self.ruleSetHash = ruleSetHash
        var lock: StateLock?
        if access == .alone { lock = try StateLock(path: files.lock, holder: StateLock.thisProcess) }
        self.lock = lock
        do {
            database = try Self.open(path)
            if try !LedgerSchema.isCurrent(database) {
                let held = try lock ?? StateLock(path: files.lock, holder: StateLock.thisProcess)
                try LedgerSchema.migrate(database)
                if lock == nil { held.release() }
            }
        } catch {
            throw .reading(path, error)
        }
        if let gateway { try check(gateway) }
    }

    /// Opens the state `NAME` to be looked at, for a dry run: without its lock, beside the run that may have it. What is
    /// to be remembered is forgotten. Where there is no state, there is an empty one.
    ///
    /// - Throws: ``StateError``: `.foreign` if it belongs to another gateway.
    package init(
        previewing directory: String, name: String, gateway: String, ruleSetHash: String
    ) throws(StateError) {
        let files = StateFiles(directory: directory, name: name)
        lock = nil
        path = files.database
        access = .preview
        self.ruleSetHash = ruleSetHash
        let exists = try files.exists()
        do { database = try exists ? Self.openToLook(path) : Self.inMemory() } catch { throw .reading(path, error) }
        try check(gateway)
    }

    /// Gives the state free. Tasks that ended a moment ago may still hold the ledger; nothing may use it any more.
    package func close() {
        try? database.close()
        lock?.release()
    }

    /// What the run that has the state `NAME` says of itself: process, host, since when. Nil if none has it.
    package static func holder(directory: String, name: String) -> String? {
        StateLock.holder(path: StateFiles(directory: directory, name: name).lock)
    }

    /// Whether anybody on this machine may put files into `directory`, as where a container's volume is 0777.
    package static func isOpenToAll(directory: String) -> Bool {
        var information = stat()
        guard stat(directory, &information) == 0 else { return false }
        return information.st_mode & S_IWOTH != 0 && information.st_mode & S_ISVTX == 0
    }
}

// MARK: - Opening

extension Ledger {
    /// How long to wait for another process that writes to the file. Each does so for milliseconds.
    private static let busyTimeout = 10.0

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeout)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// The state as it is; of an older form, a copy of it in today's.
    private static func openToLook(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(busyTimeout)
        let file = try DatabaseQueue(path: path, configuration: configuration)
        if try LedgerSchema.isCurrent(file) { return file }
        let copy = try DatabaseQueue()
        try file.backup(to: copy)
        try LedgerSchema.migrate(copy)
        return copy
    }

    private static func inMemory() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try LedgerSchema.migrate(database)
        return database
    }
}
