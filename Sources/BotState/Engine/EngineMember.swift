package import PostgreSQL

/// What a process tells the others of its fleet, and whether it was asked to take nothing more.
package enum EngineMember {
    /// This process is there for another lease. The answer has the engine's time.
    ///
    /// - Parameters:
    ///   - ruleSetHash: Empty: what it has said before; for a command, nothing.
    ///   - role: What it does in the fleet. Empty: as for the rules.
    package static func renew(
        _ engine: Engine, ruleSetHash: String = "", role: String = "", _ connection: PostgresConnection
    ) throws(PostgresError) {
        let sent = ContinuousClock.now
        let answer = try connection.run(
            """
            INSERT INTO member (owner, holder, rule_set, role, program, since, until)
            VALUES ($1, $2, $3, $5, $6, clock_timestamp(),
                clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond')
            ON CONFLICT (owner) DO UPDATE SET until = excluded.until, program = excluded.program,
                rule_set = CASE WHEN excluded.rule_set = '' THEN member.rule_set ELSE excluded.rule_set END,
                role = CASE WHEN excluded.role = '' THEN member.role ELSE excluded.role END
            RETURNING CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)
            """,
            [
                .text(engine.owner), .text(StateLock.thisProcess), .text(ruleSetHash),
                .int(engine.lease.wholeMilliseconds), .text(role), .text(ProgramVersion.current),
            ])
        if let time = answer.rows.first?.first?.int { engine.clock.note(time, sent: sent) }
    }

    /// Whether this process was asked to take nothing more.
    package static func isDrained(_ engine: Engine, _ connection: PostgresConnection) throws(PostgresError) -> Bool {
        try !connection.run("SELECT FROM member WHERE owner = $1 AND drained", [.text(engine.owner)]).rows.isEmpty
    }

    /// This process is leaving. Those that ended without a word go, too.
    ///
    /// If it was drained, it still is: it may only change its rules.
    package static func leave(_ owner: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("UPDATE member SET until = clock_timestamp() WHERE owner = $1 AND drained", [.text(owner)])
        try connection.run(
            """
            DELETE FROM member WHERE owner = $1 AND NOT drained
                OR until < clock_timestamp() - CASE WHEN drained THEN interval '1 day' ELSE interval '1 hour' END
            """, [.text(owner)])
    }

    /// The fleet was removed after its tables were found.
    static func removed(_ engine: Engine) -> StateError {
        .engineUnavailable("\(engine.description): its tables were removed a moment ago")
    }
}
