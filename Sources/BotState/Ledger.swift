internal import FleetEngine
internal import GRDB
internal import Locking

/// What a bot remembers between runs, in one SQLite file or in PostgreSQL: checkpoints, its own revisions, dead letters.
///
/// It belongs to one database, whatever its address. The file has mode 0600, a new directory 0700. Every write is a
/// transaction that is on disk (WAL, `synchronous=FULL`) when the call returns. On a full disk the call fails and
/// changes nothing.
package final class Ledger: Sendable {
    /// What other processes may do with the state at the same time.
    package enum Access: Sendable {
        /// Nothing: this process holds the lock.
        case exclusive
        /// A run may hold the lock and write at the same time.
        case shared
        /// Anything. The state is only read, for a dry run or for display: writes are discarded.
        case readOnly
    }

    /// Why a run may use the state that it opens.
    package enum Claim {
        /// It belongs to the database, or was created for it.
        case resume
        /// The same, but the database had another address before. The new address is not recorded yet.
        case resumeElsewhere
        /// It belongs to no database yet.
        case takeOver
    }

    let store: any StateStore
    /// The file or the fleet, for messages.
    let path: String
    /// The file in which the run notes the documents that it is deciding.
    package let decisionNotes: String
    /// Determines whether writes are kept.
    package let access: Access
    let ruleSetHash: String
    /// The address of the database for this run; nil if the run does not contact it.
    let address: StateFacts.Address?
    /// Distinguishes this run from others in the history of checkpoints.
    let run = StateLock.describeProcess()
    private let processLock: ProcessLock
    private let isOpen = Locked(true)
    /// For how many days entries of the trace are kept; 0: none are written.
    let tracing = Locked(0)

    /// What prevents other processes from running with this state.
    private enum ProcessLock {
        /// The state is in a file; nil: this process holds no lock.
        case file(StateFiles, StateLock?)
        case engine(Engine, EngineLease?)
        case shared(SharedState)
    }

    /// Opens or creates a state, and holds its lock until ``close()`` or the end of the process.
    ///
    /// - Parameter identity: The nonce of the database, if it is known. A state that already has one keeps it.
    /// - Throws: ``StateError``: `.locked` if another run has it.
    package init(
        _ files: StateFiles, at address: StateFacts.Address, _ claim: Claim = .resume, _ identity: String? = nil,
        ruleSetHash: String
    ) throws(StateError) {
        processLock = .file(files, try StateLock(path: files.lock, holder: StateLock.thisProcess))
        (path, decisionNotes) = (files.database, files.decisionNotes)
        self.address = address
        access = .exclusive
        self.ruleSetHash = ruleSetHash
        let isOld = try files.create()
        do {
            let database = try Self.open(files.database)
            try SQLiteStore.prepare(database)
            store = SQLiteStore(database: database, path: files.database)
        } catch {
            throw isOld ? .reading(files.database, error) : .creating(files.database, error)
        }
        try bind(to: address, claim, identity)
    }

    /// Opens a state if there is one; nil if not.
    ///
    /// - Parameters:
    ///   - ruleSetHash: The rules that own revisions and dead letters belong to. Empty: none.
    ///   - access: `.shared` or `.exclusive`. For `.readOnly` see ``init(readOnly:_:ruleSetHash:)``.
    /// - Throws: ``StateError``: `.locked` if a run has it and `.exclusive` is wanted.
    init?(existing files: StateFiles, ruleSetHash: String, access: Access) throws(StateError) {
        guard try files.exists() else { return nil }
        (path, decisionNotes) = (files.database, files.decisionNotes)
        self.access = access
        self.ruleSetHash = ruleSetHash
        address = nil
        var lock: StateLock?
        if access == .exclusive { lock = try StateLock(path: files.lock, holder: StateLock.thisProcess) }
        processLock = .file(files, lock)
        do {
            let database = try Self.open(files.database)
            try SQLiteStore.prepare(database)
            store = SQLiteStore(database: database, path: files.database)
        } catch {
            throw .reading(files.database, error)
        }
    }

    /// A state that is only read: writes are discarded.
    ///
    /// - Parameter database: From ``ReadOnlyState``. Nil: there is no state.
    init(readOnly files: StateFiles, _ database: DatabaseQueue?, ruleSetHash: String = "") throws(StateError) {
        processLock = .file(files, nil)
        (path, decisionNotes) = (files.database, files.decisionNotes)
        address = nil
        access = .readOnly
        self.ruleSetHash = ruleSetHash
        do { store = SQLiteStore(database: try database ?? Self.inMemory(), path: files.database) } catch {
            throw .reading(files.database, error)
        }
    }

    /// Opens the state of a fleet, whose tables must exist.
    ///
    /// - Parameters:
    ///   - lease: Released by ``close()``.
    ///   - directory: For data that only this machine needs.
    init(
        _ engine: Engine, _ store: any StateStore, _ lease: EngineLease?, directory: String,
        access: Access = .exclusive,
        address: StateFacts.Address?, ruleSetHash: String
    ) {
        self.store = store
        processLock = .engine(engine, lease)
        path = engine.description
        decisionNotes = "\(directory)/\(engine.fleet).deciding"
        self.address = address
        self.access = access
        self.ruleSetHash = ruleSetHash
    }

    /// Opens the state of a simulated fleet.
    ///
    /// - Parameter directory: For data that only this machine needs.
    init(_ shared: SharedState, directory: String, address: StateFacts.Address?, ruleSetHash: String) {
        store = shared.store
        processLock = .shared(shared)
        path = shared.description
        decisionNotes = "\(directory)/fleet.deciding"
        self.address = address
        access = .exclusive
        self.ruleSetHash = ruleSetHash
    }

    /// Closes the file and releases the lock, once a read under way is done. Observers of the run may still call read
    /// functions afterwards: these throw.
    package func close() {
        isOpen.withLock { isOpen in
            isOpen = false
            store.close()
        }
        switch processLock {
        case .file(_, let lock): lock?.release()
        case .engine(_, let lease): lease?.release()
        case .shared: break
        }
    }

    /// How the run that holds this state describes itself: process, host, start time. Nil if no run holds it.
    package var holder: String? {
        switch processLock {
        case .file(let files, _): StateLock.holder(path: files.lock)
        case .engine:
            try? read { session in
                try session.value(String.self, PostgresWorkLog.firstSharing)
                    ?? session.value(
                        String.self,
                        """
                        SELECT m.holder FROM lease l JOIN member m USING (owner)
                        WHERE l.name = 'feed' AND l.until > clock_timestamp()
                        """)
            }
        case .shared: nil
        }
    }

    /// The lock file of a state in a file.
    var lockPath: String? { if case .file(let files, _) = processLock { files.lock } else { nil } }

    /// Whether other processes share the work and this state.
    package var isShared: Bool {
        switch processLock {
        case .file: false
        case .engine(let engine, _): engine.fence != nil
        case .shared: true
        }
    }

    /// Identifies this process in the fleet. Nil: the state is in a file.
    var owner: String? {
        switch processLock {
        case .file: nil
        case .engine(let engine, _): engine.owner
        case .shared(let state): state.owner
        }
    }

    /// The lease under which this process alone works for its fleet.
    package var lease: EngineLease? { if case .engine(_, let lease) = processLock { lease } else { nil } }
}

// MARK: - Opening

extension Ledger {
    /// How many seconds to wait for another process that is writing to the file. A write takes milliseconds.
    static let busyTimeout = 10.0

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeout)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        DurableStep.observeTransactions(of: &configuration)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func inMemory() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try SQLiteStore.prepare(database)
        return database
    }
}

// MARK: - Access to the database for the rest of the ledger

// Errors: ``StateError``; then nothing was written, and a retry may succeed if the disk was full.
extension Ledger {
    func read<Value>(_ body: (any StateSession) throws -> Value) throws(StateError) -> Value {
        do {
            // SQLite crashes if a closed file is read.
            return try isOpen.withLock { isOpen in
                guard isOpen else { throw StateError.unreadable(path: path, reason: "this run has already closed it") }
                return try store.read(body)
            }
        } catch let error as StateError {
            throw error
        } catch {
            throw store.error(.reading, error)
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws(StateError) -> Value {
        do { return try await shielded { try await $0.read(body) } } catch { throw store.error(.reading, error) }
    }

    /// Nil if the state is only read: nothing is written.
    @discardableResult
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws(StateError) -> Value? {
        guard access != .readOnly else { return nil }
        do { return try await shielded { try await $0.write(body) } } catch { throw store.error(.writing, error) }
    }

    /// Runs in a separate task, so that cancelling the run does not cancel a write.
    private func shielded<Value: Sendable>(
        _ body: @escaping @Sendable (any StateStore) async throws -> Value
    ) async throws -> Value {
        try await Task { [store] in try await body(store) }.value
    }
}
