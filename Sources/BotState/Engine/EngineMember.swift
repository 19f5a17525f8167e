package import PostgreSQL

/// What a process records for the other members of its fleet, and whether it was asked to drain.
package enum EngineMember {
    /// Renews this process's entry for another lease period. The answer has the engine's time.
    ///
    /// - Parameters:
    ///   - ruleSetHash: Empty: unchanged; always empty for a command.
    ///   - role: Its role in the fleet. Empty: as for `ruleSetHash`.
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

    /// Whether this process was asked to drain.
    package static func isDrained(_ engine: Engine, _ connection: PostgresConnection) throws(PostgresError) -> Bool {
        try !connection.run("SELECT FROM member WHERE owner = $1 AND drained", [.text(engine.owner)]).rows.isEmpty
    }

    /// Removes this process from the fleet, and also members that ended without leaving.
    ///
    /// If it is drained, it stays drained: it may only be restarting with new rules.
    package static func leave(_ owner: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("UPDATE member SET until = clock_timestamp() WHERE owner = $1 AND drained", [.text(owner)])
        try connection.run(
            """
            DELETE FROM member WHERE owner = $1 AND NOT drained
                OR until < clock_timestamp() - CASE WHEN drained THEN interval '1 day' ELSE interval '1 hour' END
            """, [.text(owner)])
    }

    /// The error if the fleet was removed after its tables were found.
    static func removed(_ engine: Engine) -> StateError {
        .engineUnavailable("\(engine.description): its tables were removed a moment ago")
    }
}
