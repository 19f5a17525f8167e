internal import PostgreSQL

/// The list of a fleet's processes, for those who ask about it.
enum EngineMember {
    /// This process is there for another lease.
    static func renew(_ engine: Engine, ruleSetHash: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            """
            INSERT INTO member (owner, holder, rule_set, since, until)
            VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond')
            ON CONFLICT (owner) DO UPDATE SET rule_set = excluded.rule_set, until = excluded.until
            """,
            [
                .text(engine.owner), .text(StateLock.thisProcess), .text(ruleSetHash),
                .int(engine.lease.wholeMilliseconds),
            ])
    }

    /// A process that shares the work of the fleet with others; nil if none does now.
    static func sharing(_ connection: PostgresConnection) throws(PostgresError) -> String? {
        let there = try connection.run("SELECT to_regclass('work_member') IS NOT NULL")
        guard there.rows.first?.first == .int(1) else { return nil }
        return try connection.run("SELECT holder FROM work_member WHERE until > clock_timestamp() LIMIT 1")
            .rows.first?.first?.text
    }

    /// This process is leaving. Those that ended without a word go, too.
    static func leave(_ owner: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            "DELETE FROM member WHERE owner = $1 OR until < clock_timestamp() - interval '1 hour'", [.text(owner)])
    }
}
