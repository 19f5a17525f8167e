internal import GRDB
package import GatewayClient

// Which database the state belongs to, and where that is reached.
extension Ledger {
    /// Where the database was reached last; nil before the first run.
    package func gateway() throws(StateError) -> String? { try addresses().first }

    /// All places where the database was reached, the last one first.
    package func addresses() throws(StateError) -> [String] {
        try read { try String.fetchAll($0, sql: "SELECT url FROM address ORDER BY used DESC, url") }
    }

    /// Remembers that the database is reached where this run reaches it.
    package func noteAddress() async throws(StateError) {
        guard let address else { return }
        try await write { try Self.note(address, $0) }
    }

    /// The nonce of the database that the state belongs to; nil if none is known yet.
    package func databaseIdentity() throws(StateError) -> String? { try fact("database") }

    /// From now on the state belongs to the database with this nonce.
    package func adoptDatabase(identity: String) async throws(StateError) {
        try await write { try Self.setDatabase(identity, $0) }
    }

    /// The database was reset or restored: forgets own revisions, own writes and other addresses, where the database
    /// that was may live on, and keeps the new nonce. One transaction. Checkpoints and dead letters stay.
    ///
    /// - Parameter identity: Nil: none is known.
    package func forgetDatabase(identity: String?) async throws(StateError) {
        try await write { [address] in try Self.forgetDatabase(identity: identity, address, $0) }
    }

    /// The same, and goes on at `sequence`, still in one transaction.
    ///
    /// - Parameter reason: For the checkpoint's history.
    package func beginAnew(
        identity: String?, at sequence: SequenceID, reason: String
    ) async throws(StateError) {
        let checkpoint = newCheckpoint(sequence, reason: reason)
        try await write { [address] database in
            try Self.forgetDatabase(identity: identity, address, database)
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

    /// Says in a state that is being opened which database it belongs to, before anybody else can look.
    func bind(to address: StateFacts.Address, _ claim: Claim, _ identity: String?) throws(StateError) {
        do {
            try database.write { database in
                switch claim {
                case .goOnElsewhere: return
                case .takeOver: try Self.forgetDatabase(identity: nil, address, database)
                case .goOn: try Self.note(address, database)
                }
                guard let identity else { return }
                try database.execute(
                    sql: "INSERT OR IGNORE INTO identity (name, value) VALUES ('database', ?)", arguments: [identity])
            }
        } catch {
            throw .writing(path, error)
        }
    }

    private func fact(_ name: String) throws(StateError) -> String? {
        try read { database in
            try String.fetchOne(database, sql: "SELECT value FROM identity WHERE name = ?", arguments: [name])
        }
    }

    private static func forgetDatabase(
        identity: String?, _ address: StateFacts.Address?, _ database: Database
    ) throws {
        for table in ["own_revision", "effect", "caused_revision", "interrupted_decision"] {
            try database.execute(sql: "DELETE FROM \(table)")
        }
        try setDatabase(identity, database)
        guard let address else { return }
        try database.execute(sql: "DELETE FROM address")
        try note(address, database)
    }

    private static func note(_ address: StateFacts.Address, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO address (url, used)
                VALUES (?, MAX(?, (SELECT COALESCE(MAX(used), 0) + 1 FROM address)))
                """, arguments: [address.url, address.used])
    }

    private static func setDatabase(_ identity: String?, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM identity WHERE name IN ('database', 'mark')")
        guard let identity else { return }
        try database.execute(
            sql: "INSERT INTO identity (name, value) VALUES ('database', ?)", arguments: [identity])
    }
}
