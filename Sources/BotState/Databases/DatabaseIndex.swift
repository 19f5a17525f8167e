internal import FoundationEssentials
internal import GRDB
package import GatewayClient
internal import Glibc

/// What a bot knows about each of its databases while it does not work on it, so that a quiet database is not opened.
///
/// One SQLite file beside the states of the databases. It is only a memory aid: if it is lost, each database is looked at
/// once. A row never claims more than the state holds, because it is written after the work.
package final class DatabaseIndex: Sendable {
    /// What is known about a database.
    package struct Entry: Sendable, Equatable {
        /// All changes up to this sequence of the database are finished. Nil: unknown.
        package var seen: SequenceID?
        /// When the next timer or pass is due, in seconds since 1970. Nil: never.
        package var wakeAt: Int?
        /// The hash of the rules that have last worked on it.
        package var ruleSetHash = ""
        /// When its work last ended, in seconds since 1970.
        package var workedAt = 0
        /// When it was found missing, in seconds since 1970. Nil: it exists.
        package var missingSince: Int?
        /// Its open dead letters.
        package var deadLetters = 0
        /// Why its last work has failed. Nil: it has not.
        package var failure: String?

        /// Nothing is known.
        package init() {}
    }

    /// Holds the states of the databases, each in a folder of its name, and this index.
    package let folder: String
    private let path: String
    private let database: DatabaseQueue
    private let lock: StateLock?

    /// The folder for the states of a bot's databases.
    ///
    /// - Parameters:
    ///   - directory: The folder of states (`--state`).
    ///   - name: The bot's name.
    package static func folder(in directory: String, named name: String) -> String { "\(directory)/\(name).databases" }

    /// The folder for the state of one database, whose name may contain slashes.
    package static func folder(in directory: String, named name: String, of database: String) -> String {
        "\(folder(in: directory, named: name))/\(KeyspaceName.pathSegment(of: database))"
    }

    /// The names of the bots in a folder that follow many databases, sorted.
    package static func names(in directory: String) -> [String] {
        let suffix = ".databases"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.sorted()
    }

    /// Opens the index, or creates it, and holds its lock until it is deallocated.
    ///
    /// - Throws: ``StateError``: `.locked` if another run has it.
    package init(directory: String, name: String) throws(StateError) {
        folder = Self.folder(in: directory, named: name)
        path = "\(folder)/index.sqlite"
        let files = StateFiles(directory: folder, name: "index")
        try files.createDirectory()
        lock = try StateLock(path: files.lock, holder: StateLock.thisProcess)
        do {
            _ = try files.create()
            database = try Self.open(path)
        } catch let error as StateError {
            throw error
        } catch {
            throw .creating(path, error)
        }
    }

    /// An index in memory, for a run that must not change anything.
    ///
    /// - Parameter copying: Whether to begin with what the file knows, if there is one.
    package init(inMemoryFor directory: String, name: String, copying: Bool) throws(StateError) {
        folder = Self.folder(in: directory, named: name)
        path = "\(folder)/index.sqlite"
        lock = nil
        do {
            database = try Self.open(nil)
            if copying, FileManager.default.fileExists(atPath: path) {
                var configuration = Configuration()
                configuration.readonly = true
                let file = try DatabaseQueue(path: path, configuration: configuration)
                try file.backup(to: database)
                try file.close()
            }
        } catch {
            throw .reading(path, error)
        }
    }

    private static func open(_ path: String?) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Ledger.busyTimeout)
        let database =
            try path.map { try DatabaseQueue(path: $0, configuration: configuration) }
            ?? DatabaseQueue(configuration: configuration)
        try database.writeWithoutTransaction { database in
            // A row that a power failure loses only means that a database is looked at once more.
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            try database.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS entry (
                        name TEXT PRIMARY KEY, seen TEXT, wake_at INTEGER, rule_set TEXT NOT NULL,
                        worked_at INTEGER NOT NULL, missing_since INTEGER, dead_letters INTEGER NOT NULL,
                        failure TEXT
                    ) WITHOUT ROWID
                    """)
        }
        return database
    }

    /// The entries of a bot's index, by the names of the databases, without locking it. Nil: the bot has none.
    ///
    /// - Throws: ``StateError``: `.unreadable`.
    package static func entries(in directory: String, named name: String) throws(StateError) -> [String: Entry]? {
        guard FileManager.default.fileExists(atPath: "\(folder(in: directory, named: name))/index.sqlite") else {
            return nil
        }
        let copy = try DatabaseIndex(inMemoryFor: directory, name: name, copying: true)
        defer { copy.close() }
        return try copy.all()
    }

    /// All entries, by the names of the databases.
    package func all() throws(StateError) -> [String: Entry] {
        do {
            return try database.read { database in
                var entries: [String: Entry] = [:]
                let rows = try Row.fetchCursor(database, sql: "SELECT * FROM entry")
                while let row = try rows.next() {
                    var entry = Entry()
                    entry.seen = (row["seen"] as String?).flatMap { SequenceID($0) }
                    entry.wakeAt = row["wake_at"]
                    entry.ruleSetHash = row["rule_set"]
                    entry.workedAt = row["worked_at"]
                    entry.missingSince = row["missing_since"]
                    entry.deadLetters = row["dead_letters"]
                    entry.failure = row["failure"]
                    entries[row["name"]] = entry
                }
                return entries
            }
        } catch {
            throw .reading(path, error)
        }
    }

    /// All entries, and an empty one for each state without an entry: a crash ended the first work on its database.
    package func allWithStates() throws(StateError) -> [String: Entry] {
        var entries = try all()
        let files = FileManager.default
        for segment in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let name = KeyspaceName.name(ofPathSegment: segment), entries[name] == nil,
                (try? files.contentsOfDirectory(atPath: "\(folder)/\(segment)")) != nil
            else { continue }
            entries[name] = Entry()
        }
        return entries
    }

    /// Replaces the entry of a database.
    package func save(_ name: String, _ entry: Entry) async throws(StateError) {
        do {
            try await database.write { database in
                try database.execute(
                    sql: "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    arguments: [
                        name, entry.seen?.description, entry.wakeAt, entry.ruleSetHash, entry.workedAt,
                        entry.missingSince, entry.deadLetters, entry.failure,
                    ])
            }
        } catch {
            throw .writing(path, error)
        }
    }

    /// Deletes the entry of a database, and the folder with its state.
    package func forget(_ name: String) async throws(StateError) {
        do {
            try await database.write { database in
                try database.execute(sql: "DELETE FROM entry WHERE name = ?", arguments: [name])
            }
        } catch {
            throw .writing(path, error)
        }
        try? FileManager.default.removeItem(atPath: "\(folder)/\(KeyspaceName.pathSegment(of: name))")
        beginOrder(of: name)
        endOrder(of: name)
    }

    /// Closes the file and releases the lock.
    package func close() {
        try? database.close()
        lock?.release()
    }
}
