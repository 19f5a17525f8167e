internal import PostgreSQL

/// What the engine knows of a fleet's processes, for whoever asks.
package struct FleetStanding: Sendable {
    /// A process that runs or stands by.
    package struct Member: Sendable {
        /// How it describes itself: process, host, time.
        package let holder: String
        package let runs: Bool
        /// The hash of its rules; empty for a command.
        package let ruleSetHash: String
        /// Seconds since 1970.
        package let since: Int
    }

    /// Those whose lease has not run out, the one that runs first.
    package let members: [Member]
    /// How many times the lease was granted.
    package let turns: Int
    /// Nil unless the members share the work.
    package let shared: Shared?

    /// How the work is shared.
    package struct Shared: Sendable {
        package struct Member: Sendable {
            /// How it describes itself.
            package let holder: String
            /// How many partitions it has.
            package let partitions: Int
            package let readsFeed: Bool
        }

        package let members: [Member]
        /// Of the log.
        package let partitions: Int
        /// Changes in the log.
        package let waiting: Int
        /// Since when the oldest of them waits, in seconds; nil if there is none.
        package let oldest: Double?
        /// Changes that wait for a time outside the log.
        package let parked: Int
        /// How often something was taken over from a member that had not given it back.
        package let takeovers: Int
    }
    /// `PostgreSQL 15.8`.
    package let server: String
    /// Facts about the server that can lose what it has acknowledged; empty if there are none.
    package let risks: [String]
}

extension Engine {
    /// Asks the engine. Blocks.
    ///
    /// - Throws: ``StateError``: `.missing` if there is no such fleet, `.engineUnavailable`.
    package func standing() throws(StateError) -> FleetStanding {
        try ask { connection in
            let members = try connection.run(
                """
                SELECT member.holder, lease.owner IS NOT NULL, member.rule_set,
                    CAST(EXTRACT(EPOCH FROM member.since) AS bigint)
                FROM member LEFT JOIN lease ON lease.owner = member.owner AND lease.until > clock_timestamp()
                WHERE member.until > clock_timestamp() ORDER BY 2 DESC, member.since
                """)
            let turns = try connection.run("SELECT token FROM lease WHERE name = $1", [.text(EngineLease.name)])
            let server = try connection.run(
                """
                SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('fsync'),
                    current_setting('synchronous_commit')
                """)
            let facts = (server.rows.first ?? []).map { $0.text ?? "" }
            var risks: [String] = []
            if facts.count > 1, facts[1] == "off" { risks.append("fsync is off: it loses data when the machine fails") }
            if facts.count > 2, facts[2] == "off" {
                risks.append("synchronous_commit is off: it loses the last writes when it is killed")
            }
            return FleetStanding(
                members: members.rows.map { row in
                    FleetStanding.Member(
                        holder: row[0].text ?? "", runs: row[1] == .int(1), ruleSetHash: row[2].text ?? "",
                        since: row[3].int ?? 0)
                }, turns: turns.rows.first?.first?.int ?? 0, shared: try Self.shared(connection),
                server: facts.first ?? "", risks: risks)
        }
    }

    private static func shared(_ connection: PostgresConnection) throws -> FleetStanding.Shared? {
        let there = try connection.run("SELECT to_regclass('work_member') IS NOT NULL")
        guard there.rows.first?.first == .int(1) else { return nil }
        let members = try connection.run(
            """
            SELECT holder, count(name) FILTER (WHERE name <> 'feed'), count(name) FILTER (WHERE name = 'feed') > 0
            FROM work_member LEFT JOIN work_lease
                ON work_lease.owner = work_member.owner AND work_lease.until > clock_timestamp()
            WHERE work_member.until > clock_timestamp() GROUP BY work_member.owner, holder ORDER BY holder
            """)
        let facts = try connection.run(
            """
            SELECT partitions, takeovers, (SELECT count(*) FROM work), (SELECT count(*) FROM parked),
                CAST((SELECT EXTRACT(EPOCH FROM clock_timestamp() - min(at)) FROM work) AS float8)
            FROM fleet
            """
        ).rows.first
        guard let facts, facts.count == 5 else { return nil }
        return FleetStanding.Shared(
            members: members.rows.map { row in
                FleetStanding.Shared.Member(
                    holder: row[0].text ?? "", partitions: row[1].int ?? 0, readsFeed: row[2] == .int(1))
            }, partitions: facts[0].int ?? 0, waiting: facts[2].int ?? 0, oldest: facts[4].double,
            parked: facts[3].int ?? 0, takeovers: facts[1].int ?? 0)
    }

    /// Ends the turn of the member that runs. It stops with its next renewal or write; another takes over when the lease
    /// would have run out, so that two never act at once.
    ///
    /// - Returns: How the member described itself; nil if none runs.
    /// - Throws: ``StateError``.
    package func release() throws(StateError) -> String? {
        try ask { connection in
            try connection.run(
                """
                UPDATE lease SET owner = ''
                WHERE name = $1 AND owner <> '' AND until > clock_timestamp() RETURNING holder
                """, [.text(EngineLease.name)]
            ).rows.first?.first?.text
        }
    }

    /// Removes the fleet and all that it knows, and the fleet of its `fix`. No process can start meanwhile.
    ///
    /// - Throws: ``StateError``: `.locked` if a process runs or stands by.
    package func reset() throws(StateError) {
        try ask { connection in
            try connection.transaction { connection in
                let fleets = [self, fixes].compactMap(\.self)
                for fleet in fleets {
                    if let holder = try EngineMember.lockOut(fleet, connection) {
                        throw StateError.locked(holder: holder)
                    }
                }
                for fleet in fleets {
                    let schema = PostgresConnection.quotedIdentifier(fleet.schema)
                    try connection.script("DROP SCHEMA IF EXISTS \(schema) CASCADE")
                }
            }
        }
    }

    private func ask<Value>(_ body: (PostgresConnection) throws -> Value) throws(StateError) -> Value {
        let queue = makeQueue()
        defer { queue.close() }
        do {
            return try queue.performNow { connection in
                guard try EngineSchema.check(self, connection) else {
                    throw StateError.missing(
                        "there is no fleet '\(fleet)' on \(address); name the right one with --engine and --fleet")
                }
                return try body(connection)
            }
        } catch {
            throw .engine(self, .writing, error)
        }
    }
}
