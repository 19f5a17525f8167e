internal import Fleet
internal import PostgreSQL

/// The operators' commands to members of a fleet. Each call blocks.
extension Engine {
    /// Asks a member to finish its current work, release its leases, and take no more. It starts within a third of
    /// its lease.
    ///
    /// - Parameter isOver: Whether to end the drain instead.
    /// - Throws: ``StateError``.
    package func drain(_ member: FleetSnapshot.Member, isOver: Bool = false) throws(StateError) {
        try ask { connection in
            _ = try connection.run(
                "UPDATE member SET drained = $2::int = 1 WHERE owner = $1", [.text(member.owner), .int(isOver ? 0 : 1)])
        }
    }

    /// Takes all leases from a member, without waiting for its work under way. The member notices this at its next
    /// renewal or write. Other members take the leases over when they would have expired, so that two members never
    /// work at once.
    ///
    /// - Parameter drains: Whether the member may not take leases again.
    /// - Throws: ``StateError``.
    package func release(_ member: FleetSnapshot.Member, drains: Bool) throws(StateError) {
        try ask { connection in
            try connection.transaction { connection in
                // Leases before members, in the same order as the members themselves.
                try connection.run(
                    "SELECT FROM lease WHERE owner = $1 ORDER BY name FOR UPDATE", [.text(member.owner)])
                try connection.run("UPDATE lease SET owner = '' WHERE owner = $1", [.text(member.owner)])
                // Its next renewal finds that the membership is over. Its writes to the state are refused at once.
                try connection.run(
                    """
                    UPDATE member SET membership = NULL, shares = false, works = false,
                        drained = drained OR $2::int = 1 WHERE owner = $1
                    """, [.text(member.owner), .int(drains ? 1 : 0)])
            }
        }
    }

    /// Removes the fleet with its whole state, and the fleet of its `fix`. No process can start meanwhile.
    ///
    /// - Throws: ``StateError``: `.locked` if a process is active or on standby.
    package func reset() throws(StateError) {
        try ask { connection in
            try connection.transaction { connection in
                let fleets = [self, fixEngine].compactMap(\.self)
                for fleet in fleets {
                    if let holders = try fleet.preventStarts(connection) {
                        throw StateError.locked(holder: holders)
                    }
                }
                for fleet in fleets {
                    let schema = PostgresConnection.quotedIdentifier(fleet.schema)
                    try connection.script("DROP SCHEMA IF EXISTS \(schema) CASCADE")
                }
            }
        }
    }
}

extension Engine {
    /// The running processes; nil if there are none. No process can start until the transaction ends.
    private func preventStarts(_ connection: PostgresConnection) throws -> String? {
        guard try EngineSchema.exists(schema, connection) else { return nil }
        try connection.script("SET LOCAL search_path TO \(PostgresConnection.quotedIdentifier(schema))")
        do throws(PostgresError) {
            try connection.script("LOCK TABLE lease, member IN ACCESS EXCLUSIVE MODE")
        } catch {
            guard error.sqlState == EngineSchema.undefinedTable else { throw error }
            throw EngineMember.removed(self)
        }
        return try connection.run(
            """
            SELECT string_agg(DISTINCT holder, '; ' ORDER BY holder) FROM member WHERE until > clock_timestamp()
            """
        ).rows.first?.first?.text
    }
}

/// A change that crashed each process that attempted it.
package struct FatalChange: Sendable {
    /// The number of its dead letter; nil if it was retried, dropped or replaced since.
    package let deadLetter: Int?
    package let id: String
    package let revision: String
    package let isDeletion: Bool
    package let partition: Int
    package let attempts: Int
    package let reason: String
    /// Seconds since 1970.
    package let at: Int
}

extension Engine {
    /// Changes that crashed the processes that attempted them, the oldest first.
    ///
    /// - Parameter includesSettled: Whether to include those without a dead letter.
    /// - Returns: The changes, and the address of the fleet's gateway.
    /// - Throws: ``StateError``.
    package func fatalChanges(
        includesSettled: Bool = false
    ) throws(StateError) -> (changes: [FatalChange], gateway: String?) {
        try ask { connection in
            let gateway = try connection.run("SELECT url FROM address ORDER BY used DESC LIMIT 1")
                .rows.first?.first?.text
            let rows = try connection.run(
                """
                SELECT number, id, rev, kind, partition, attempts, reason, at FROM (
                    SELECT (\(DeadChanges.deadLetter) ORDER BY number DESC LIMIT 1) AS number, n, id, rev, kind,
                        partition, attempts, reason, CAST(EXTRACT(EPOCH FROM at) AS bigint) AS at
                    FROM dead_change) d
                WHERE number IS NOT NULL OR $1::int = 1 ORDER BY n
                """, [.int(includesSettled ? 1 : 0)]
            ).rows
            let changes = rows.map { row in
                let entry = FeedEntry(
                    kind: row[3].int.flatMap { FeedEntry.Kind(rawValue: $0) } ?? .changed, sequence: "",
                    id: DocumentKey(bytes: Self.bytes(row[1])), revisionBytes: Self.bytes(row[2]))
                return FatalChange(
                    deadLetter: row[0].int, id: entry.id.text, revision: entry.revision,
                    isDeletion: entry.isDeleted, partition: row[4].int ?? 0, attempts: row[5].int ?? 0,
                    reason: row[6].text ?? "", at: row[7].int ?? 0)
            }
            return (changes, gateway)
        }
    }

    private static func bytes(_ value: PostgresValue) -> [UInt8] {
        if case .bytes(let bytes) = value { bytes } else { [] }
    }
}
