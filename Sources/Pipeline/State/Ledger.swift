internal import Foundation
internal import GRDB

/// What a bot remembers between runs, in one SQLite file: checkpoints, its own revisions, dead letters.
///
/// Belongs to one database, wherever that is reached. The file is 0600; a directory that has to be made is 0700. Every
/// write is a transaction that is on disk (WAL, `synchronous=FULL`) when the call returns; killing the process between
/// two calls loses neither. A disk that is full fails the call and leaves everything as it was.
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

    /// What a run that opens a state knows of it.
    enum Claim {
        /// It is the one, or is made for this database.
        case goOn
        /// The same, for a database that was reached elsewhere before. The new address is not remembered yet.
        case goOnElsewhere
        /// It belongs to none.
        case takeOver
    }

    let database: DatabaseQueue
    let files: StateFiles
    package let access: Access
    let ruleSetHash: String
    /// Where this run reaches the database; nil if it does not.
    let address: StateFacts.Address?
    /// What tells this run from others in the history of checkpoints.
    let run = StateLock.thisProcess
    private let lock: StateLock?

    var path: String { files.database }

    /// Opens or creates a state, and holds its lock until ``close()`` or the end of the process.
    ///
    /// - Parameter identity: The mark of the database, if it is known. A state that knows another keeps that.
    /// - Throws: ``StateError``: `.locked` if another run has it.
    init(
        _ files: StateFiles, at address: StateFacts.Address, _ claim: Claim = .goOn, _ identity: String? = nil,
        ruleSetHash: String
    ) throws(StateError) {
        lock = try StateLock(path: files.lock, holder: StateLock.thisProcess)
        self.files = files
        self.address = address
        access = .alone
        self.ruleSetHash = ruleSetHash
        let isOld = try files.create()
        do {
            database = try Self.open(files.database)
            try LedgerSchema.migrate(database)
        } catch {
            throw isOld ? .reading(files.database, error) : .creating(files.database, error)
        }
        try bind(to: address, claim, identity)
    }

    /// Opens or creates the first state `NAME` in `directory`, whatever database it belongs to.
    ///
    /// - Parameter gateway: Where the database is reached.
    /// - Throws: ``StateError``: `.locked` if another run has it.
    package convenience init(
        directory: String, name: String, gateway: String, ruleSetHash: String
    ) throws(StateError) {
        let files = StateFiles(directory: directory, name: name)
        try files.createDirectory()
        try self.init(files, at: StateFacts.Address(url: gateway, used: 1), ruleSetHash: ruleSetHash)
    }

    /// Opens a state if there is one; nil if not.
    ///
    /// - Parameters:
    ///   - ruleSetHash: Needed for what is remembered of rules. Empty: of none.
    ///   - access: `.beside` or `.alone`.
    /// - Throws: ``StateError``: `.locked` if a run has it and it is to be had alone; also if it is of an older form,
    ///   which nobody can change below a run.
    init?(existing files: StateFiles, ruleSetHash: String, access: Access) throws(StateError) {
        guard try files.exists() else { return nil }
        self.files = files
        self.access = access
        self.ruleSetHash = ruleSetHash
        address = nil
        var lock: StateLock?
        if access == .alone { lock = try StateLock(path: files.lock, holder: StateLock.thisProcess) }
        self.lock = lock
        do {
            database = try Self.open(files.database)
            if try !LedgerSchema.isCurrent(database) {
                let held = try lock ?? StateLock(path: files.lock, holder: StateLock.thisProcess)
                try LedgerSchema.migrate(database)
                if lock == nil { held.release() }
            }
        } catch {
            throw .reading(files.database, error)
        }
    }

    /// Opens the first state `NAME` in `directory` if there is one; nil if not.
    package convenience init?(
        existing directory: String, name: String, ruleSetHash: String = "", access: Access
    ) throws(StateError) {
        try self.init(
            existing: StateFiles(directory: directory, name: name), ruleSetHash: ruleSetHash, access: access)
    }

    /// A state for a dry run, in which what is to be remembered is forgotten.
    ///
    /// - Parameter copy: Of the state. Nil: there is none.
    init(previewing files: StateFiles, copy: DatabaseQueue?, _ ruleSetHash: String) throws(StateError) {
        lock = nil
        self.files = files
        address = nil
        access = .preview
        self.ruleSetHash = ruleSetHash
        do { database = try copy ?? Self.inMemory() } catch { throw .reading(files.database, error) }
    }

    /// Reads the first state `NAME` for a dry run, beside the run that may have it. Where there is no state, there is an
    /// empty one. Neither makes nor changes any file.
    package convenience init(previewing directory: String, name: String, ruleSetHash: String) throws(StateError) {
        let files = StateFiles(directory: directory, name: name)
        var copy: DatabaseQueue?
        if try files.exists() {
            do { copy = try LedgerSnapshot.take(files) } catch { throw .reading(files.database, error) }
        }
        try self.init(previewing: files, copy: copy, ruleSetHash)
    }

    /// Gives the state free. Tasks that ended a moment ago may still hold the ledger; nothing may use it any more.
    package func close() {
        try? database.close()
        lock?.release()
    }

    /// What the run that has this state says of itself: process, host, since when. Nil if none has it.
    package var holder: String? { StateLock.holder(path: files.lock) }

    /// The same of the first state `NAME`.
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
    static let busyTimeout = 10.0

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeout)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func inMemory() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try LedgerSchema.migrate(database)
        return database
    }
}
