internal import Encodings
internal import FleetEngine
internal import PostgreSQL

/// A report on an engine, to check whether a bot can work with it.
package struct EngineInspection: Sendable {
    /// `the fleet 'orders' on postgres://db.example.org/changebot`
    package let name: String
    /// `PostgreSQL 15.8`
    package let server: String
    /// Whether the server acknowledges writes before they are on disk (`fsync=off`).
    package let hasFsyncOff: Bool
    /// Whether a killed server loses the last writes (`synchronous_commit=off`).
    package let hasAsynchronousCommit: Bool
    /// A message with the remedy after a semicolon; nil if a run can begin.
    package let problem: String?
    /// Nil: there is no such fleet yet.
    package let snapshot: FleetSnapshot?
    package let clock: Clock

    /// When the engine was asked and when it answered, and its own time, all in seconds since 1970.
    package struct Clock: Sendable {
        package let sent: Int
        package let answered: Int
        package let engine: Int
    }

    /// The problem and the remedy, if the fleet has another number of partitions than `wanted`; otherwise nil.
    package func otherPartitions(than wanted: Int) -> (text: String, remedy: String)? {
        guard let there = snapshot?.shared?.parts.count, there != wanted else { return nil }
        return (WorkLogPartitions.other(wanted, there), WorkLogPartitions.remedy(there))
    }
}

extension Engine {
    /// Inspects the engine without changing anything. Blocks.
    ///
    /// - Throws: ``StateError`` if it can't be reached.
    package func inspect() throws(StateError) -> EngineInspection {
        let queue = makeQueue()
        defer { queue.close() }
        do {
            let (facts, problem, exists, clock) = try queue.performNow { connection in
                let sent = Timestamp.secondsNow
                let row =
                    try connection.run(
                        """
                        SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('fsync'),
                            current_setting('synchronous_commit'),
                            CAST(floor(EXTRACT(EPOCH FROM clock_timestamp())) AS bigint)
                        """
                    ).rows.first ?? []
                let clock = EngineInspection.Clock(
                    sent: sent, answered: Timestamp.secondsNow, engine: row.last?.int ?? sent)
                let facts = row.map { $0.text ?? "" }
                let problem = try missingRight(connection)
                guard problem == nil else { return (facts, problem, false, clock) }
                do { return (facts, nil, try EngineSchema.exists(schema, connection), clock) } catch let error
                    as SupersededSchema
                {
                    return (facts, "\(StateError.engine(self, .reading, error))", false, clock)
                }
            }
            let snapshot = exists ? try self.snapshot() : nil
            return EngineInspection(
                name: description, server: facts.first ?? "", hasFsyncOff: facts.dropFirst().first == "off",
                hasAsynchronousCommit: facts.dropFirst(2).first == "off", problem: problem, snapshot: snapshot,
                clock: clock)
        } catch {
            throw .engine(self, .reading, error)
        }
    }

    /// The privilege that the user lacks, and the remedy.
    private func missingRight(_ connection: PostgresConnection) throws -> String? {
        let row = try connection.run(
            """
            SELECT current_user, has_database_privilege(current_database(), 'CREATE'),
                (SELECT has_schema_privilege(n.oid, 'USAGE') AND (has_schema_privilege(n.oid, 'CREATE')
                        OR EXISTS (SELECT FROM pg_class WHERE relnamespace = n.oid AND relname = 'identity'))
                    FROM pg_namespace n WHERE nspname = $1),
                (SELECT bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
                        AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
                    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE nspname = $1 AND c.relkind = 'r')
            """, [.text(schema)]
        ).rows.first
        guard let row, row.count == 4 else { return nil }
        let user = PostgresConnection.quotedIdentifier(row[0].text ?? "")
        let name = PostgresConnection.quotedIdentifier(schema)
        guard let schemaPrivilege = row[2].int else {
            let database = PostgresConnection.quotedIdentifier(address.database)
            return row[1] == .int(1)
                ? nil
                : "the user \(user) may not create the schema of the fleet; in psql, run: "
                    + "GRANT CREATE ON DATABASE \(database) TO \(user)"
        }
        guard schemaPrivilege == 1, row[3] != .int(0) else {
            return "the user \(user) may not use the schema of the fleet, which another user owns; in psql, run: "
                + "ALTER SCHEMA \(name) OWNER TO \(user), and the same for its tables"
        }
        return nil
    }

    /// The names of all fleets in the database whose tables this user may read, in order. Blocks.
    ///
    /// - Throws: ``StateError``.
    package func fleets() throws(StateError) -> [String] {
        let prefix = "changebot_"
        let queue = makeQueue()
        defer { queue.close() }
        do {
            return try queue.performNow { connection in
                try connection.run(
                    """
                    SELECT nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
                    WHERE starts_with(nspname, $1) AND relname = 'identity' AND has_schema_privilege(n.oid, 'USAGE')
                        AND has_table_privilege(c.oid, 'SELECT')
                    ORDER BY nspname COLLATE "C"
                    """, [.text(prefix)]
                ).rows.compactMap { $0.first?.text.map { String($0.dropFirst(prefix.count)) } }
            }
        } catch {
            throw .engine(self, .reading, error, place: "\(address)")
        }
    }
}
