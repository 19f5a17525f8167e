internal import GRDB
package import GatewayClient

// Which gateway, and which database behind it, the state belongs to.
extension Ledger {
    /// The gateway and keyspace that the state is bound to; nil before its first run.
    package func gateway() throws(StateError) -> String? { try fact("gateway") }

    /// The nonce of the database that the state belongs to; nil if none is known yet.
    package func databaseIdentity() throws(StateError) -> String? { try fact("database") }

    /// From now on the state belongs to the database with this nonce.
    package func adoptDatabase(identity: String) async throws(StateError) {
        try await write { try Self.setDatabase(identity, $0) }
    }

    /// The database was reset or restored: forgets own revisions and own writes, and keeps the new nonce. One
    /// transaction. Checkpoints and dead letters stay.
    ///
    /// - Parameter identity: Nil: none is known.
    package func forgetDatabase(identity: String?) async throws(StateError) {
        try await write { try Self.forgetDatabase(identity: identity, $0) }
    }

    /// The same, and goes on at `sequence`, still in one transaction.
    ///
    /// - Parameter reason: For the checkpoint's history.
    package func beginAnew(
        identity: String?, at sequence: SequenceID, reason: String
    ) async throws(StateError) {
        let checkpoint = newCheckpoint(sequence, reason: reason)
        try await write { database in
            try Self.forgetDatabase(identity: identity, database)
            try Self.append(checkpoint, database)
        }
    }

    /// How often the mark in the database had been written when it was seen last; 0 if that is not known.
    package func markGeneration() throws(StateError) -> Int { try fact("mark").flatMap { Int($0) } ?? 0 }

    package func noteMark(generation: Int) async throws(StateError) {
        guard try markGeneration() != generation else { return }
        try await write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO identity (name, value) VALUES ('mark', ?)", arguments: ["\(generation)"])
        }
    }

    /// - Throws: ``StateError``: `.foreign`.
    func bind(to gateway: String) throws(StateError) {
        do {
            try database.write { database in
                try database.execute(
                    sql: "INSERT OR IGNORE INTO identity (name, value) VALUES ('gateway', ?)", arguments: [gateway])
            }
        } catch {
            throw .writing(path, error)
        }
        try check(gateway)
    }

    /// - Throws: ``StateError``: `.foreign`.
    func check(_ gateway: String) throws(StateError) {
        guard let recorded = try self.gateway(), recorded != gateway else { return }
        throw .foreign(path: path, recorded: recorded, actual: gateway)
    }

    private func fact(_ name: String) throws(StateError) -> String? {
        try read { database in
            try String.fetchOne(database, sql: "SELECT value FROM identity WHERE name = ?", arguments: [name])
        }
    }

    private static func forgetDatabase(identity: String?, _ database: Database) throws {
        for table in ["own_revision", "effect", "caused_revision", "interrupted_decision"] {
            try database.execute(sql: "DELETE FROM \(table)")
        }
        try setDatabase(identity, database)
    }

    private static func setDatabase(_ identity: String?, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM identity WHERE name IN ('database', 'mark')")
        guard let identity else { return }
        try database.execute(
            sql: "INSERT INTO identity (name, value) VALUES ('database', ?)", arguments: [identity])
    }
}
