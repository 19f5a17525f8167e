internal import PostgreSQL

/// The list of a fleet's processes, for those who ask about it.
enum EngineMember {
    /// This process is there for another lease. The answer has the engine's time.
    ///
    /// - Parameter role: What it does in the fleet. Empty: what it has said before; for a command, nothing.
    static func renew(
        _ engine: Engine, ruleSetHash: String, role: String = "", _ connection: PostgresConnection
    ) throws(PostgresError) {
        try noteTime(engine) { () throws(PostgresError) in
            try connection.run(
                """
                INSERT INTO member (owner, holder, rule_set, role, program, since, until)
                VALUES ($1, $2, $3, $5, $6, clock_timestamp(),
                    clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond')
                ON CONFLICT (owner) DO UPDATE SET rule_set = excluded.rule_set, until = excluded.until,
                    role = CASE WHEN excluded.role = '' THEN member.role ELSE excluded.role END
                RETURNING \(time)
                """,
                [
                    .text(engine.owner), .text(StateLock.thisProcess), .text(ruleSetHash),
                    .int(engine.lease.wholeMilliseconds), .text(role), .text(ProgramVersion.current),
                ])
        }
    }

    /// The engine's time, in milliseconds since 1970.
    private static let time = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)"

    /// - Parameter statement: Returns the engine's time.
    private static func noteTime(
        _ engine: Engine, _ statement: () throws(PostgresError) -> PostgresResult
    ) throws(PostgresError) {
        let sent = ContinuousClock.now
        if let time = try statement().rows.first?.first?.int { engine.clock.note(time, sent: sent) }
    }

    /// Whether this process was asked to take nothing more.
    static func isDrained(_ engine: Engine, _ connection: PostgresConnection) throws(PostgresError) -> Bool {
        try !connection.run("SELECT FROM drained WHERE owner = $1", [.text(engine.owner)]).rows.isEmpty
    }

    /// A process that shares the work of the fleet with others: the one that reads the feed, or else the first one. Nil if
    /// none does now.
    static func sharing(_ connection: PostgresConnection) throws(PostgresError) -> String? {
        try connection.run(firstSharing).rows.first?.first?.text
    }

    private static let firstSharing = """
        SELECT m.holder FROM work_member m
        LEFT JOIN work_lease l ON l.name = 'feed' AND l.owner = m.owner AND l.until > clock_timestamp()
        WHERE m.until > clock_timestamp() ORDER BY l.owner IS NULL, m.since, m.owner LIMIT 1
        """

    /// The same, for those who look at a state.
    static func sharing(_ session: any StateSession) throws -> String? {
        try session.value(String.self, firstSharing)
    }

    /// Those that share the work and were silent for too long are no members any more: if they come back, they begin anew.
    static func endExpiredSharing(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("DELETE FROM work_member WHERE until <= clock_timestamp()")
    }

    /// Held until the transaction ends by whoever begins to run alone, or to share the work: the two exclude each other.
    static func lockTurn(_ engine: Engine, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [.text(engine.schema)])
    }

    /// Somebody removed the fleet after its tables were found.
    static func removed(_ engine: Engine) -> StateError {
        .engineUnavailable("\(engine.description): its tables were removed a moment ago")
    }

    /// The processes that are there; nil if none is. Until the transaction ends, none can come. Only for who removes the
    /// fleet.
    static func lockOut(_ engine: Engine, _ connection: PostgresConnection) throws -> String? {
        try lockTurn(engine, connection)
        try connection.script("SET LOCAL search_path TO \(PostgresConnection.quotedIdentifier(engine.schema))")
        guard try EngineSchema.isThere(engine.schema, connection) else { return nil }
        try connection.script("LOCK TABLE member, lease IN ACCESS EXCLUSIVE MODE")
        let found = try connection.run(
            """
            SELECT string_agg(DISTINCT holder, '; ' ORDER BY holder) FROM (
                SELECT holder FROM lease WHERE until > clock_timestamp() AND owner <> ''
                UNION ALL SELECT holder FROM member WHERE until > clock_timestamp()
                UNION ALL SELECT holder FROM work_member WHERE until > clock_timestamp()) h
            """)
        return found.rows.first?.first?.text
    }

    /// Becomes one of those that share the work, unless a process runs alone. From then on it knows the engine's time.
    ///
    /// - Throws: ``StateError/locked(holder:)`` if one does; `PostgresError`.
    static func beginSharing(_ engine: Engine, works: Bool, _ connection: PostgresConnection) throws {
        try connection.transaction { connection in
            try lockTurn(engine, connection)
            guard try EngineSchema.isThere(engine.schema, connection) else { throw removed(engine) }
            let found = try connection.run(
                "SELECT holder FROM lease WHERE name = $1 AND until > clock_timestamp()", [.text(EngineLease.name)])
            if let holder = found.rows.first?.first?.text { throw StateError.locked(holder: holder) }
            try noteTime(engine) { () throws(PostgresError) in
                try connection.run(
                    """
                    INSERT INTO work_member (owner, holder, works, since, until)
                    VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond')
                    ON CONFLICT (owner) DO UPDATE SET until = excluded.until
                    RETURNING \(time)
                    """,
                    [
                        .text(engine.owner), .text(StateLock.thisProcess), .int(works ? 1 : 0),
                        .int(engine.lease.wholeMilliseconds),
                    ])
            }
        }
    }

    /// This process is leaving. Those that ended without a word go, too.
    ///
    /// If it was drained, it still is: it may only change its rules.
    static func leave(_ owner: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            "DELETE FROM member WHERE owner = $1 OR until < clock_timestamp() - interval '1 hour'", [.text(owner)])
        try connection.run(
            """
            DELETE FROM drained WHERE at < clock_timestamp() - interval '1 day'
                AND NOT EXISTS (SELECT FROM member WHERE member.owner = drained.owner)
            """)
    }
}
