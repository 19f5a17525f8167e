internal import GRDB

extension Router {
    /// Empties the database as if it had been deleted and created again: sequences restart, `_local` documents and
    /// sessions are lost, and waiting feeds end. Concurrent requests see either the old or the new database.
    func resetDatabase() async throws {
        try await store.empty()
        accounts.sessions.endAll()
        try await accounts.settleAgain()
    }
}

extension Store {
    /// Tables that are kept, or updated separately.
    private static let kept = ["collections", "counters", "versions", "grdb_migrations"]

    /// Deletes everything in all collections.
    fileprivate func empty() async throws {
        try await database.write { db in
            let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
            for table in tables where !Self.kept.contains(table) && !table.hasPrefix("sqlite_") {
                try db.execute(sql: "DELETE FROM \(table)")
            }
            try db.execute(sql: "UPDATE versions SET source = ?", arguments: [DocumentVersions.makeSource()])
            try db.execute(
                sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [Self.guestSequence])
            // Comes before any other write, because the era assigns writes to the old or the new database.
            db.afterNextTransaction { [signal] _ in signal.restart(at: Self.guestSequence) }
        }
    }
}
