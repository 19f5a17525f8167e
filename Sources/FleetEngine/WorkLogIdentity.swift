internal import PostgreSQL

/// SQL expressions that identify the server and its incarnation.
///
/// The incarnation of a log is the server's timeline, the cluster's identifier and some random digits. A promoted
/// standby has another timeline, a new cluster another identifier, and after a restored dump the table `fleet` has
/// another number. The first member that notices a difference voids all leases: see ``checkServer(leaseTime:_:)``.
///
/// It does not notice rows that are restored into the same tables of the same server.
struct WorkLogIdentity: Sendable {
    /// SQL: the identifier of the cluster. NULL if the user may not read it.
    let systemID: String
    /// SQL: the server's current timeline. Empty on a standby.
    let timeline =
        "(CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END)"

    /// Finds out what the user may read.
    init(_ connection: PostgresConnection) throws(PostgresError) {
        let mayRead = try connection.run("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')")
        let isAllowed = mayRead.rows.first?.first == .int(1)
        systemID = isAllowed ? "(SELECT system_identifier::text FROM pg_control_system())" : "NULL::text"
    }

    /// SQL: a new, unique incarnation.
    var newIncarnation: String {
        """
        (\(timeline) || '.' || coalesce(\(systemID), '') || '.'
            || left(md5(random()::text || clock_timestamp()::text || pg_backend_pid()), 8))
        """
    }

    /// SQL, with the table `fleet`: whether its incarnation is still the server's. An unreadable value counts as equal.
    var isSame: String {
        """
        (fleet.timeline = \(timeline) AND fleet.table_id = fleet.tableoid::bigint
            AND coalesce(fleet.system_id = \(systemID), true))
        """
    }

    /// SQL for the first part of a `WITH`: the row `f` with the time, the incarnation, and whether leases are granted.
    var state: String {
        """
        f AS MATERIALIZED (
            SELECT clock_timestamp() AS now, fleet.incarnation, fleet.seq, fleet.n, \(isSame) AS is_same,
                clock_timestamp() >= fleet.quiet_until AS may_grant
            FROM fleet)
        """
    }

    /// Checks whether the server lost commits or was replaced. If so, voids all leases, and grants none until every
    /// tenure is over. If several connections do this at once, only the first takes effect.
    ///
    /// - Returns: The incarnation.
    /// - Throws: `PostgresError`, never `.unknownCommit`: the next call checks again.
    func checkServer(leaseTime: Duration, _ connection: PostgresConnection) throws -> String {
        let row = try connection.run("SELECT incarnation, \(isSame) FROM fleet").rows.first
        if let row, row[1] == .int(1), let incarnation = row[0].text { return incarnation }
        do { return try begin(leaseTime, connection) } catch PostgresError.unknownCommit(let reason, let state) {
            throw PostgresError.unavailable(reason: reason, sqlState: state)
        }
    }

    private func begin(_ leaseTime: Duration, _ connection: PostgresConnection) throws -> String {
        try connection.transaction { connection in
            try connection.run("SELECT FROM lease ORDER BY name FOR UPDATE")
            let changed = try connection.run(
                """
                UPDATE fleet SET incarnation = \(newIncarnation), system_id = \(systemID), timeline = \(timeline),
                    table_id = tableoid::bigint,
                    quiet_until = clock_timestamp() + greatest(lease_ms, $1::bigint) * interval '1 millisecond'
                WHERE NOT \(isSame)
                """, [.int(leaseTime.wholeMilliseconds)])
            if changed.affected > 0 {
                try connection.run("UPDATE lease SET owner = NULL WHERE owner IS NOT NULL")
                try connection.run("\(PostgresWorkLog.endMembership) WHERE membership IS NOT NULL")
            }
            return try connection.run("SELECT incarnation FROM fleet").rows.first?.first?.text ?? ""
        }
    }
}
