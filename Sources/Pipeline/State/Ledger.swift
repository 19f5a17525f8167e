internal import Foundation
internal import GRDB
package import GatewayClient

/// What a bot remembers between runs, in one SQLite file: checkpoints, its own revisions, dead letters.
///
/// Bound to one gateway and keyspace. The file is 0600; a directory that has to be made is 0700. Every write is a transaction that is on
/// disk (WAL, `synchronous=FULL`) when the call returns; killing the process between two calls loses neither.
package final class Ledger: Sendable {
    private let database: DatabaseQueue
    private let path: String
    /// Nil for one that is only looked at.
    private let lock: StateLock?
    private let ruleSetHash: String

    /// How many of its own revisions a bot remembers.
    static let ownRevisionLimit = 200_000
    static let checkpointHistoryLimit = 50

    /// Opens or creates the state `NAME` in `directory`, and holds its lock until ``close()`` or the end of the process.
    ///
    /// - Throws: ``StateError``: `.locked` if another run has it, `.foreign` if it belongs to another gateway.
    package init(directory: String, name: String, gateway: String, ruleSetHash: String) throws(StateError) {
        try Self.createDirectory(directory)
        let base = "\(directory)/\(name)"
        lock = try StateLock(path: base + ".lock", holder: StateLock.thisProcess)
        path = base + ".sqlite"
        self.ruleSetHash = ruleSetHash
        let isNew = !FileManager.default.fileExists(atPath: path)
        // SQLite creates files with 0644 less the umask; it keeps the mode of one that is there.
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .cannotCreate(path: path, reason: String(cString: strerror(errno))) }
        Foundation.close(descriptor)
        do {
            database = try DatabaseQueue(path: path, configuration: Self.configuration)
            try LedgerSchema.migrator.migrate(database)
        } catch {
            throw isNew
                ? .cannotCreate(path: path, reason: "\(error)") : .unreadable(path: path, reason: "\(error)")
        }
        try bind(to: gateway)
    }

    /// Opens the state `NAME` to be looked at, for a dry run: without its lock, beside the run that may have it. What is
    /// to be remembered is forgotten. Where there is no state, there is an empty one.
    ///
    /// - Throws: ``StateError``: `.foreign` if it belongs to another gateway.
    package init(
        previewing directory: String, name: String, gateway: String, ruleSetHash: String
    ) throws(StateError) {
        lock = nil
        path = "\(directory)/\(name).sqlite"
        self.ruleSetHash = ruleSetHash
        do {
            if FileManager.default.fileExists(atPath: path) {
                var configuration = Configuration()
                configuration.readonly = true
                database = try DatabaseQueue(path: path, configuration: configuration)
            } else {
                database = try DatabaseQueue()
                try LedgerSchema.migrator.migrate(database)
            }
        } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
        let recorded = try read { database in
            try String.fetchOne(database, sql: "SELECT value FROM identity WHERE name = 'gateway'")
        }
        if let recorded, recorded != gateway {
            throw .foreign(path: path, recorded: recorded, actual: gateway)
        }
    }

    /// Gives the state free. Tasks that ended a moment ago may still hold the ledger; nothing may use it any more.
    package func close() {
        try? database.close()
        lock?.release()
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        return configuration
    }

    private static func createDirectory(_ directory: String) throws(StateError) {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .cannotCreate(path: directory, reason: error.localizedDescription)
        }
    }

    private func bind(to gateway: String) throws(StateError) {
        let recorded = try write { database in
            try database.execute(
                sql: "INSERT OR IGNORE INTO identity (name, value) VALUES ('gateway', ?)", arguments: [gateway])
            return try String.fetchOne(database, sql: "SELECT value FROM identity WHERE name = 'gateway'")
        }
        guard let recorded, recorded != gateway else { return }
        throw .foreign(path: path, recorded: recorded, actual: gateway)
    }

    // MARK: - Checkpoint

    /// The checkpoint saved last, and the hash of the rules that were in force.
    package func checkpoint() throws(StateError) -> (sequence: SequenceID, ruleSetHash: String)? {
        let row = try read { database in
            try Row.fetchOne(
                database, sql: "SELECT sequence, rule_set FROM checkpoint ORDER BY number DESC LIMIT 1")
        }
        guard let row else { return nil }
        guard let sequence = SequenceID(row["sequence"] as String) else {
            throw .unreadable(path: path, reason: "its checkpoint is not a sequence")
        }
        return (sequence, row["rule_set"])
    }

    /// Saves the safe sequence. To be called after everything up to it is finished, never before.
    package func saveCheckpoint(_ sequence: SequenceID) async throws(StateError) {
        try await write { [ruleSetHash] database in
            try database.execute(
                sql: "INSERT INTO checkpoint (sequence, rule_set, saved_at) VALUES (?, ?, ?)",
                arguments: [sequence.description, ruleSetHash, Timestamp.now])
            try database.execute(
                sql: "DELETE FROM checkpoint WHERE number <= (SELECT MAX(number) FROM checkpoint) - ?",
                arguments: [Self.checkpointHistoryLimit])
        }
    }

    // MARK: - Own revisions

    /// Remembers that this rule set wrote these revisions.
    package func recordOwnRevisions(_ revisions: [(id: DocumentID, revision: RevisionID)]) async throws(StateError) {
        guard !revisions.isEmpty else { return }
        try await write { [ruleSetHash] database in
            let insert = try database.cachedStatement(
                sql: "INSERT OR REPLACE INTO own_revision (id, revision, rule_set) VALUES (?, ?, ?)")
            for own in revisions {
                try insert.execute(arguments: [own.id.text, own.revision.text, ruleSetHash])
            }
            try database.execute(
                sql: "DELETE FROM own_revision WHERE rowid <= (SELECT MAX(rowid) FROM own_revision) - ?",
                arguments: [Self.ownRevisionLimit])
        }
    }

    /// Which of these did this very rule set write? Their positions in `revisions`.
    package func ownRevisions(
        among revisions: [(id: DocumentID, revision: RevisionID)]
    ) async throws(StateError) -> Set<Int> {
        guard !revisions.isEmpty else { return [] }
        return try await asyncRead { [ruleSetHash] database in
            let select = try database.cachedStatement(
                sql: "SELECT 1 FROM own_revision WHERE id = ? AND revision = ? AND rule_set = ?")
            var found: Set<Int> = []
            for (index, candidate) in revisions.enumerated() {
                let arguments: StatementArguments = [candidate.id.text, candidate.revision.text, ruleSetHash]
                if try Row.fetchOne(select, arguments: arguments) != nil { found.insert(index) }
            }
            return found
        }
    }

    // MARK: - Dead letters

    package func setAside(_ letters: [DeadLetter]) async throws(StateError) {
        guard !letters.isEmpty else { return }
        try await write { database in
            for letter in letters {
                // A change that is seen again after a crash is set aside once.
                try database.execute(
                    sql: "DELETE FROM dead_letter WHERE id = ? AND revision IS ? AND rule IS ?",
                    arguments: [letter.id.text, letter.revision?.text, letter.rule])
                try database.execute(
                    sql: """
                        INSERT INTO dead_letter (sequence, id, revision, rule, reason, attempts, set_aside_at)
                        VALUES (?, ?, ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        letter.sequence?.description, letter.id.text, letter.revision?.text, letter.rule, letter.reason,
                        letter.attempts, Timestamp.now,
                    ])
            }
        }
    }

    package func deadLetters() throws(StateError) -> [DeadLetter] {
        try read { database in
            try Row.fetchAll(database, sql: "SELECT * FROM dead_letter ORDER BY number").map { row in
                DeadLetter(
                    sequence: (row["sequence"] as String?).flatMap { SequenceID($0) }, id: DocumentID(row["id"]),
                    revision: (row["revision"] as String?).map { RevisionID($0) }, rule: row["rule"],
                    reason: row["reason"], attempts: row["attempts"])
            }
        }
    }

    // MARK: - Access

    private func read<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do { return try database.read(body) } catch { throw .unreadable(path: path, reason: "\(error)") }
    }

    private func write<Value>(_ body: (Database) throws -> Value) throws(StateError) -> Value {
        do { return try database.write(body) } catch { throw .cannotWrite(path: path, reason: "\(error)") }
    }

    private func asyncRead<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StateError) -> Value {
        do { return try await shielded { try await $0.read(body) } } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
    }

    private func write(_ body: @escaping @Sendable (Database) throws -> Void) async throws(StateError) {
        guard lock != nil else { return }
        do { try await shielded { try await $0.write(body) } } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
    }

    /// What is to be remembered is remembered even if the run is being cancelled: a task of its own, waited for.
    private func shielded<Value: Sendable>(
        _ body: @escaping @Sendable (DatabaseQueue) async throws -> Value
    ) async throws -> Value {
        try await Task { [database] in try await body(database) }.value
    }
}
