package import Fleet
internal import Locking
package import PostgreSQL

/// Either one member does all the work, or several share it. A member that starts either way locks the lease of the
/// feed first.
extension PostgresWorkLog {
    /// The answer to a member that wants to start.
    package enum Entry<Value: Sendable>: Sendable {
        case granted(Value)
        /// This other process prevents it.
        case refused(holder: String)
    }

    /// Takes the lease of the feed, and with it all the work, under a new membership. Blocks.
    ///
    /// - Parameter body: Called afterwards in the same transaction.
    /// - Throws: `PostgresError`; what `body` throws.
    package func leadDirectly(_ body: (PostgresConnection) throws -> Void = { _ in }) throws -> Entry<Lease> {
        let milliseconds = PostgresValue.int(leaseTime.wholeMilliseconds)
        return try renewals.transactionNow { session in
            let connection = session.connection
            try Self.lockFeed(connection)
            if let holder = try Self.holder(otherThan: owner, shares: false, connection) {
                return .refused(holder: holder)
            }
            let taken = try connection.run(
                """
                UPDATE lease SET owner = $1, token = token + 1, direct = true, turns = turns + 1,
                    until = clock_timestamp() + $2::bigint * interval '1 millisecond'
                WHERE name = 'feed' RETURNING token, (SELECT incarnation FROM fleet)
                """, [.text(owner), milliseconds]
            ).rows.first
            guard let taken, let incarnation = taken[1].text else { throw WorkLogPartitions.incomplete }
            // Members whose lease has expired: none of them holds anything valid.
            try connection.run("\(Self.endMembership) WHERE membership IS NOT NULL AND owner <> $1", [.text(owner)])
            try beginMembership(connection)
            try body(connection)
            return .granted(Lease(name: .feed, token: try taken.int64(0), incarnation: incarnation))
        }
    }

    /// Joins the members that share the work, under a new membership.
    ///
    /// - Parameter body: Called afterwards in the same transaction.
    /// - Throws: ``WorkLogError``.
    package func join(
        _ body: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) async throws(WorkLogError) -> Entry<Void> {
        try await renewals.call { [self] session in
            try session.connection.transaction { connection in
                try Self.lockFeed(connection)
                if let holder = try Self.holder(otherThan: owner, shares: true, connection) {
                    return .refused(holder: holder)
                }
                // The member that did all the work was silent for too long.
                try connection.run(
                    "\(Self.endMembership) WHERE owner = (SELECT owner FROM lease WHERE name = 'feed' AND direct)")
                try connection.run("UPDATE lease SET owner = NULL, direct = false WHERE name = 'feed' AND direct")
                try beginMembership(connection)
                try body(connection)
                return .granted(())
            }
        }
    }

    private func beginMembership(_ connection: PostgresConnection) throws {
        try WorkLogPartitions.noteLease(leaseTime, connection)
        let row = try connection.run(
            """
            INSERT INTO member (owner, holder, membership, shares, works, since, until)
            VALUES ($1, $2, \(Self.newMembership), $3::int = 1, $4::int = 1, clock_timestamp(),
                clock_timestamp() + $5::bigint * interval '1 millisecond')
            ON CONFLICT (owner) DO UPDATE SET holder = excluded.holder, membership = excluded.membership,
                shares = excluded.shares, works = excluded.works, until = excluded.until
            RETURNING membership
            """,
            [
                .text(owner), .text(member.holder.storable), .int(member.shares ? 1 : 0), .int(member.works ? 1 : 0),
                .int(leaseTime.wholeMilliseconds),
            ]
        ).rows.first
        let membership = try row?.int64(0)
        currentMembership.withLock { $0 = membership }
    }

    /// Releases the direct lease, and ends the membership. Blocks.
    ///
    /// - Parameter body: Called afterwards in the same transaction.
    /// - Throws: `PostgresError`; what `body` throws.
    package func leaveNow(_ body: (PostgresConnection) throws -> Void) throws {
        try renewals.transactionNow { session in
            try Self.leave(owner, session.connection)
            try body(session.connection)
        }
    }

    // MARK: Conflicting members

    /// Until the transaction ends, no member begins to lead directly or joins.
    private static func lockFeed(_ connection: PostgresConnection) throws(PostgresError) {
        try connection.run("SELECT FROM lease WHERE name = 'feed' FOR NO KEY UPDATE")
    }

    /// The process that prevents a member from starting. Nil: none does.
    ///
    /// - Parameter shares: Whether it wants to share the work, rather than do all of it.
    package static func holder(
        otherThan owner: String, shares: Bool, _ connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        if !shares, let holder = try connection.run(firstSharing).rows.first?.first?.text { return holder }
        return try connection.run(leading, [.text(owner), .int(shares ? 1 : 0)]).rows.first?.first?.text
    }

    /// SQL: one member that shares the work: the one that reads the feed, or else the first one.
    package static let firstSharing = """
        SELECT m.holder FROM member m
        LEFT JOIN lease l ON l.name = 'feed' AND l.owner = m.owner AND l.until > clock_timestamp()
        WHERE m.shares AND m.until > clock_timestamp() ORDER BY l.owner IS NULL, m.since, m.owner LIMIT 1
        """

    /// SQL: `$1` the member that asks, `$2` whether it wants to share the work.
    private static let leading = """
        SELECT CASE WHEN f.quiet_until > clock_timestamp() THEN 'no member yet: the engine went back to an older state'
            WHEN l.owner = '' THEN 'no member yet: the last one was asked to stop' ELSE coalesce(m.holder, l.owner) END
        FROM lease l LEFT JOIN member m ON m.owner = l.owner LEFT JOIN fleet f ON true
        WHERE l.name = 'feed' AND (l.owner <> $1 AND l.until > clock_timestamp() AND (l.direct OR $2::int = 0)
            OR f.quiet_until > clock_timestamp() AND $2::int = 0)
        """
}
