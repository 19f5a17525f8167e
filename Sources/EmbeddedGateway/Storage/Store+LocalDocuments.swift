internal import FoundationEssentials
internal import GRDB

/// `_local` documents. Revisions count as `0-1`, `0-2`, and a write must name the revision that it replaces.
extension Store {
    func localDocument(_ name: String) throws -> (revision: Int, body: [UInt8])? {
        try read { db in try localDocument(name, db) }
    }

    /// - Returns: The new revision.
    /// - Throws: ``RequestError`` 409 if `revision` is not the current one.
    func writeLocalDocument(_ name: String, replacing revision: String?, body: [UInt8]) async throws -> Int {
        try await database.write { db in
            let current = try localDocument(name, db)?.revision
            guard revision == current.map({ "0-\($0)" }) else { throw RequestError.localConflict }
            let next = (current ?? 0) + 1
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO local_documents (collection, name, revision, body) VALUES (?, ?, ?, ?)
                    """,
                arguments: [collection, name, next, Data(body)])
            return next
        }
    }

    /// - Throws: ``RequestError`` 404 or 409.
    func deleteLocalDocument(_ name: String, replacing revision: String?) async throws {
        try await database.write { db in
            guard let current = try localDocument(name, db)?.revision else { throw RequestError.missing }
            guard revision == "0-\(current)" else { throw RequestError.localConflict }
            try db.execute(
                sql: "DELETE FROM local_documents WHERE collection = ? AND name = ?", arguments: [collection, name])
        }
    }

    private func localDocument(_ name: String, _ db: Database) throws -> (revision: Int, body: [UInt8])? {
        let statement = try db.cachedStatement(
            sql: "SELECT revision, body FROM local_documents WHERE collection = ? AND name = ?")
        guard let row = try Row.fetchOne(statement, arguments: [collection, name]) else { return nil }
        return (row[0], Array(row[1] as Data))
    }
}
