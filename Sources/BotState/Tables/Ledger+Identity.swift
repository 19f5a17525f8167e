package import GatewayClient
internal import Locking

// The database that the state belongs to, and its addresses.
extension Ledger {
    /// The last URL of the database; nil before the first run.
    package func gateway() throws(StateError) -> String? { try addresses().first }

    /// All URLs of the database so far, the last one first.
    package func addresses() throws(StateError) -> [String] {
        try read { try $0.values(String.self, "SELECT url FROM address ORDER BY used DESC, url") }
    }

    /// Records the address of the database in this run.
    package func noteAddress() async throws(StateError) {
        guard let address else { return }
        try await write { try Self.note(address, $0) }
    }

    /// The nonce of the state's database; nil if none is known yet.
    package func databaseIdentity() throws(StateError) -> String? { try fact("database") }

    /// Assigns the state to the database with this nonce.
    func adoptDatabase(identity: String) async throws(StateError) {
        try await write { try Self.setDatabase(identity, $0) }
    }

    /// After a reset or restore of the database: deletes own revisions, chains, interrupted decisions, timers,
    /// schedules, counts and the other addresses, where the old database may still exist, and stores the new nonce. One
    /// transaction. Checkpoints and dead letters are kept.
    ///
    /// - Parameters:
    ///   - identity: The new nonce; nil if it is not known.
    ///   - record: Replaces ``resetRecord()``; nil: leave it.
    package func forgetDatabase(identity: String?, record: ResetRecord? = nil) async throws(StateError) {
        try await write { [address] database in
            try Self.forgetDatabase(identity: identity, address, database)
            try Self.moveLog(to: nil, database)
            if let record { try Self.set("resets", record.json, database) }
        }
    }

    /// The same, and sets the checkpoint to `sequence`, in the same transaction.
    ///
    /// - Parameters:
    ///   - reason: For the checkpoint's history.
    ///   - record: Replaces ``resetRecord()``; nil: leave it.
    package func startOver(
        identity: String?, at sequence: SequenceID, reason: String, record: ResetRecord? = nil
    ) async throws(StateError) {
        let checkpoint = newCheckpoint(sequence, reason: reason)
        try await write { [address] database in
            try Self.forgetDatabase(identity: identity, address, database)
            try Self.append(checkpoint, database)
            try Self.moveLog(to: sequence.description, database)
            if let record { try Self.set("resets", record.json, database) }
        }
    }

    /// How many times the mark in the database had been written when it was last seen; 0 if unknown.
    package func markGeneration() throws(StateError) -> Int { try fact("mark").flatMap { Int($0) } ?? 0 }

    /// Records how many times the mark has been written. No write if that is recorded already.
    package func noteMark(generation: Int) async throws(StateError) {
        guard try await onSeparateThread({ ledger throws(StateError) in try ledger.markGeneration() }) != generation
        else {
            return
        }
        try await write { try Self.set("mark", "\(generation)", $0) }
    }

    /// What is known about earlier resets of the database.
    func resetRecord() throws(StateError) -> ResetRecord {
        try fact("resets").flatMap(ResetRecord.init) ?? ResetRecord()
    }

    /// Records the database that the state belongs to. No write if that is recorded already.
    package func noteDatabase(_ info: DatabaseInfo) async throws(StateError) {
        let (old, new) = try await onSeparateThread { ledger throws(StateError) in
            let record = try ledger.resetRecord()
            return (record, record.noting(info))
        }
        guard new != old else { return }
        try await write { try Self.set("resets", new.json, $0) }
    }

    /// Records that a process of a fleet is about to write the mark.
    ///
    /// - Returns: The id of the write, for ``DatabaseMark/write``.
    func beginMarkWrite() async throws(StateError) -> String {
        let id = SystemRandom.identifier()
        try await write { database in
            let isNew = database.dialect.isLater("at", thanSecondsAgo: "?")
            try database.execute("DELETE FROM mark_write WHERE NOT \(isNew)", [7 * 86_400])
            try database.execute("INSERT INTO mark_write (id) VALUES (?)", [id])
        }
        return id
    }

    /// Call this when the mark of this write was found in the database, or the gateway has answered the write.
    ///
    /// - Returns: Whether it was not answered before. Then it may be a late write that replaced newer marks.
    func removeUnansweredMarkWrite(_ id: String) async throws(StateError) -> Bool {
        guard owner != nil, !id.isEmpty else { return false }
        return try await write { try $0.execute("DELETE FROM mark_write WHERE id = ?", [id]) } ?? 0 > 0
    }

    /// Records, while a state is being opened, which database it belongs to, before another process can read it.
    func bind(to address: StateFacts.Address, _ claim: Claim, _ identity: String?) throws(StateError) {
        do {
            try store.writeNow { database in
                switch claim {
                case .resumeElsewhere: return
                case .takeOver: try Self.forgetDatabase(identity: nil, address, database)
                case .resume: if try !Self.isLatest(address, database) { try Self.note(address, database) }
                }
                guard let identity else { return }
                try database.execute(
                    "INSERT INTO identity (name, value) VALUES ('database', ?) ON CONFLICT DO NOTHING", [identity])
            }
        } catch {
            throw store.error(.writing, error)
        }
    }

    private func fact(_ name: String) throws(StateError) -> String? {
        try read { database in
            try database.value(String.self, "SELECT value FROM identity WHERE name = ?", [name])
        }
    }

    /// Records a fact about the state.
    static func set(_ name: String, _ value: String, _ database: any StateSession) throws {
        try database.execute(
            database.dialect.replace(into: "identity", ["name", "value"], key: ["name"]), [name, value])
    }

    private static func forgetDatabase(
        identity: String?, _ address: StateFacts.Address?, _ database: any StateSession
    ) throws {
        let tables = [
            "own_write", "caused_revision", "interrupted_decision", "aggregate_rule", "contribution", "total",
            "total_to_write", "recount", "timer", "schedule", "last_seen",
        ]
        for table in tables {
            try database.execute("DELETE FROM \(table)")
        }
        // Resumed rules need not make up for changes, and paused ones must for all: all documents are read again.
        try database.execute("DELETE FROM paused_rule WHERE resumed_at IS NOT NULL")
        try database.execute("UPDATE paused_rule SET since = NULL, last_write = 0")
        try database.execute(
            "UPDATE backfill SET last_id = NULL, expected = NULL, read_count = 0 WHERE ended_at IS NULL")
        try database.execute("DELETE FROM identity WHERE name = 'missed_rules'")
        try setDatabase(identity, database)
        guard let address else { return }
        try database.execute("DELETE FROM address")
        try note(address, database)
    }

    /// Whether the address is already recorded as the last one: then there is nothing to write.
    private static func isLatest(_ address: StateFacts.Address, _ database: any StateSession) throws -> Bool {
        try database.value(Int.self, "SELECT used FROM address WHERE url = ?", [address.url])
            == address.used
    }

    private static func note(_ address: StateFacts.Address, _ database: any StateSession) throws {
        try database.execute(
            """
            INSERT INTO address (url, used)
            VALUES (?, \(database.dialect.greatest("?", "(SELECT COALESCE(MAX(used), 0) + 1 FROM address)")))
            ON CONFLICT (url) DO UPDATE SET used = excluded.used
            """, [address.url, address.used])
    }

    private static func setDatabase(_ identity: String?, _ database: any StateSession) throws {
        try database.execute("DELETE FROM identity WHERE name IN ('database', 'mark')")
        guard let identity else { return }
        try database.execute("INSERT INTO identity (name, value) VALUES ('database', ?)", [identity])
    }
}
