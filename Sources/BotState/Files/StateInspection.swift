internal import GRDB
internal import GatewayClient

/// A report on a state, for checks. Making it changes nothing, creates no file and holds no lock that a run would
/// notice.
package struct StateInspection: Sendable, Equatable {
    /// The path of the database file.
    package let path: String
    /// The version of its tables; nil if it has none yet, or can't be used.
    package var version: Int?
    /// The last address of its database; nil if it is not known.
    package var address: String?
    /// The sequence of its checkpoint; nil if there is none.
    package var checkpoint: String?
    /// How the run that uses it describes itself; nil if no run does.
    package var holder: String?
    /// Why the file can't be used; nil if it can.
    package var problem: String?

    /// The loaded database library, with its version: `SQLite 3.40.1`.
    package static var libraryVersion: String {
        let version = try? DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") }
        return "SQLite \(version ?? "of an unknown version")"
    }
}

extension StateCatalogue {
    /// Inspects all states of this bot. Blocks.
    ///
    /// - Throws: ``StateError``: `.unreadable` if the folder can't be read.
    package func inspect() throws(StateError) -> [StateInspection] {
        try StateFiles.numbers(directory: directory, name: name).map { Self.inspect(files($0)) }
    }

    private static func inspect(_ files: StateFiles) -> StateInspection {
        var state = StateInspection(path: files.database)
        do {
            guard try files.exists() else { return state }
            state.holder = StateLock.holder(path: files.lock)
            let database = try ReadOnlyState.openUnchecked(files)
            defer { try? database.close() }
            try database.read { database in
                guard try SQLiteStore.isPrepared(database) else { return }
                state.version = Schema.version
                let damage = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
                if let damage, damage != "ok" { state.problem = "it is damaged: \(damage)" }
                let facts = try StateFacts(SQLiteSession(database: database))
                state.address = facts.lastAddress
                state.checkpoint = facts.checkpoint.flatMap { SequenceID($0)?.queryValue }
            }
        } catch {
            let failure = StateError.reading(files.database, error)
            state.problem = if case .unreadable(_, let reason) = failure { reason } else { failure.description }
        }
        return state
    }
}
