internal import FoundationEssentials
internal import GRDB

/// The documents of one collection of a database, in a file or in memory.
///
/// Each call is one transaction. In a file, readers and the writer do not block each other (write-ahead log). An
/// acknowledged write survives a crash of the process at any moment, because the kernel has the log before the answer
/// is sent. A power failure may lose the last moments (`synchronous=NORMAL`) but never corrupts the file. One `fsync`
/// per write would cost most of the speed and is not needed for development.
///
/// - Note: Source: sqlite.org/pragma.html#pragma_synchronous, sqlite.org/wal.html.
final class Store: Sendable {
    /// The sequence of GUEST, which the real gateway assigns before the first document's.
    static let guestSequence = 1

    let database: any DatabaseWriter
    /// Notifies the changes feeds after each commit.
    let signal: ChangeSignal
    let rules: WritingRules
    private let lock: FileLock?
    /// The collection's key. 0 for `_default._default`.
    let collection: Int64
    /// The collection as `SCOPE.COLLECTION`.
    let name: String
    /// The users and roles of the database.
    let principals: PrincipalDirectory
    /// When a document of the collection expires.
    let nextExpiry = NextExpiry()
    /// The collection's sync function.
    let function = SyncFunctionSlot()

    /// - Throws: GRDB's `DatabaseError` if the file can't be opened; ``DatabaseFile/NotAGatewayDatabase`` if it is not
    ///   a gateway's database; ``FileLock/AlreadyLocked`` if another gateway has it open.
    init(_ storage: EmbeddedGateway.Storage, rules: WritingRules = WritingRules()) throws {
        self.rules = rules
        collection = 0
        name = Router.defaultCollection
        principals = PrincipalDirectory()
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000")
        }
        switch storage {
        case .memory:
            database = try DatabaseQueue(configuration: configuration)
            lock = nil
        case .file(let path):
            try DatabaseFile(path: path).check()
            database = try DatabasePool(path: path, configuration: configuration)
            lock = try FileLock(nextTo: path)
        }
        try Schema.migrator.migrate(database)
        let sequence = try database.read { db in try Self.lastSequence(db) }
        signal = ChangeSignal(lastSequence: sequence)
        nextExpiry.set(try database.read { db in try Self.nextExpiry(of: 0, db) })
    }

    private init(_ other: Store, collection: Int64, name: String) {
        database = other.database
        signal = other.signal
        rules = other.rules
        lock = other.lock
        principals = other.principals
        self.collection = collection
        self.name = name
    }

    /// Another collection of the same database, with separate documents and shared sequences. Created if it is missing.
    ///
    /// - Parameter name: `SCOPE.COLLECTION`.
    func collection(_ name: String) async throws -> Store {
        let (key, next) = try await database.write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO collections (name) VALUES (?)", arguments: [name])
            let key = try Int64.fetchOne(db, sql: "SELECT key FROM collections WHERE name = ?", arguments: [name]) ?? 0
            return (key, try Self.nextExpiry(of: key, db))
        }
        let store = Store(self, collection: key, name: name)
        store.nextExpiry.set(next)
        return store
    }

    /// Closes the file after moving the write-ahead log into it. Later calls throw. A database in memory ends with its
    /// last request instead: a request may still read it, and GRDB crashes on a `DatabaseQueue` that is closed.
    func close() throws {
        guard let pool = database as? DatabasePool else { return }
        defer { lock?.release() }
        // The pool would close the writer first, but if a reader is the last connection, it can't remove the log.
        pool.invalidateReadOnlyConnections()
        try pool.close()
    }

    /// The collections that have had a document, as `SCOPE.COLLECTION`, sorted.
    func collectionsWithDocuments() throws -> [String] {
        try read { db in
            try String.fetchAll(
                db,
                sql: "SELECT name FROM collections WHERE key IN (SELECT collection FROM documents) ORDER BY name")
        }
    }

    /// The highest sequence assigned.
    static func lastSequence(_ db: Database) throws -> Int {
        let statement = try db.cachedStatement(sql: "SELECT value FROM counters WHERE name = 'sequence'")
        return try Int.fetchOne(statement) ?? guestSequence
    }

    func lastSequence() throws -> Int { try read { db in try Self.lastSequence(db) } }

    /// Reads on the caller's thread.
    ///
    /// Not asynchronous on purpose: reads would queue up, so that the results of hundreds of requests would be in
    /// memory before the first one is answered.
    func read<Value>(_ value: (Database) throws -> Value) throws -> Value { try database.read(value) }
}
