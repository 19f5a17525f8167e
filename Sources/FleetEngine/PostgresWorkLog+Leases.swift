package import Fleet
internal import Locking
internal import PostgreSQL

// The statements that grant leases also check the server's identity: see ``WorkLogIdentity``. If it has changed, they
// change nothing and return a row that says so.
extension PostgresWorkLog {
    private var leaseMilliseconds: PostgresValue { .int(leaseTime.wholeMilliseconds) }

    package func renew() async throws(WorkLogError) -> Renewal {
        let values: [PostgresValue] = [
            .text(owner), .int(member.works ? 1 : 0), leaseMilliseconds, .text(member.holder.storable),
            .int(member.shares ? 1 : 0),
        ]
        let sent = ContinuousClock.now
        let (renewal, membership, time) = try await granting(renewals) { session in
            let rows = try session.connection.run(Self.renewal(session.identity), values).rows
            return try Self.renewal(rows)
        }
        noteTime(time, sent)
        let isNew = currentMembership.withLock { known in
            defer { known = membership }
            return known.map { $0 != membership } ?? false
        }
        guard isNew, member.endsWithMembership else { return renewal }
        try? await leave()
        throw .refused(Self.membershipIsOver)
    }

    /// The reason if a membership has ended and no new one may begin.
    package static let membershipIsOver = "the membership ended: this member was silent for too long"

    package func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim] {
        var seen = Set<Int>()
        let wanted = partitions.filter { $0 >= 0 && $0 < self.partitions && seen.insert($0).inserted }
        guard !wanted.isEmpty, limit > 0 else { return [] }
        let values: [PostgresValue] = [.text(owner), SQLArray.counts(wanted), .int(limit), leaseMilliseconds]
        return try await granting(working) { session in
            let rows = try session.connection.run(Self.claims(session.identity), values).rows
            guard try rows.first?.bool(0) == true else { return nil }
            return try rows.filter { $0[2] != .null }.map(Claim.init(row:))
        }
    }

    package func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim {
        let values = claim.lease.parameters(owner)
        return try await working.call { session in
            // A commit under way holds the lease's row.
            let row = try session.connection.run(
                """
                SELECT p.position, p.version, p.takeovers
                FROM fleet f, lease l JOIN partition_position p ON p.partition::text = l.name
                WHERE l.name = $1 AND l.owner = $2 AND l.token = $3 AND f.incarnation = $4 FOR SHARE OF l, p
                """, values
            ).rows.first
            guard let row else { throw WorkLogError.voidLease }
            return try claim.with(row)
        }
    }

    package func release(_ lease: Lease) async throws(WorkLogError) {
        let values = lease.parameters(owner)
        try await working.change { session in
            _ = try session.connection.run(
                """
                UPDATE lease l SET owner = NULL FROM fleet f
                WHERE l.name = $1 AND l.owner = $2 AND l.token = $3 AND f.incarnation = $4
                """, values)
        }
    }

    package func leave() async throws(WorkLogError) {
        try await working.change { [owner] session in try Self.leave(owner, session.connection) }
    }

    static func leave(_ owner: String, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            """
            WITH l AS (UPDATE lease SET owner = NULL WHERE owner = $1 RETURNING 1)
            \(endMembership) WHERE owner = $1 AND (SELECT count(*) FROM l) >= 0
            """, [.text(owner)])
    }

    /// Calls `body`. If it finds that the server has changed, voids all leases and calls it again.
    ///
    /// - Parameter body: Returns nil if the server has changed.
    func granting<Result: Sendable>(
        _ calls: WorkLogCalls, _ body: @escaping @Sendable (WorkLogCalls.Session) throws -> Result?
    ) async throws(WorkLogError) -> Result {
        try await calls.change { [leaseTime] session in
            if let result = try body(session) { return result }
            _ = try session.identity.checkServer(leaseTime: leaseTime, session.connection)
            if let result = try body(session) { return result }
            throw WorkLogError.unavailable("the server's identity keeps changing")
        }
    }
}

// MARK: - Statements

extension PostgresWorkLog {
    /// SQL before a `WHERE`. The member stays listed, and may not cause effects.
    static let endMembership = "UPDATE member SET membership = NULL, shares = false, works = false"

    /// SQL: a number that no membership ever had, even after a dump was restored: the time.
    static let newMembership = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"

    /// `$1` owner, `$2` whether it works on partitions, `$3` duration of a lease in ms, `$4` holder, `$5` whether it
    /// shares the work.
    ///
    /// The first row is the member's. The others are leases that it has or could take. A lease is free if it had
    /// expired before the statement began.
    private static func renewal(_ identity: WorkLogIdentity) -> String {
        """
        WITH \(identity.state),
        own AS (
            UPDATE lease l SET until = f.now + $3::bigint * interval '1 millisecond'
            FROM f WHERE f.is_same AND l.owner = $1 RETURNING l.name, l.token),
        -- Leases are locked before members, everywhere.
        me AS (
            INSERT INTO member (owner, holder, membership, shares, works, since, until)
            SELECT $1, $4, \(newMembership), $5::int = 1, $2::int = 1, f.now, f.now + $3::bigint * interval '1 millisecond'
            FROM f, (SELECT count(*) FROM own) o WHERE f.is_same
            ON CONFLICT (owner) DO UPDATE
            SET until = excluded.until, shares = excluded.shares, works = excluded.works, holder = excluded.holder,
                membership = coalesce(member.membership, excluded.membership)
            RETURNING membership)
        SELECT 0 AS kind, f.incarnation AS name, me.membership AS token,
            (SELECT count(*) FROM member m WHERE m.owner <> $1 AND m.works AND m.until > f.now) + $2::int AS workers,
            CAST(EXTRACT(EPOCH FROM f.now) * 1000 AS bigint) AS time
        FROM f LEFT JOIN me ON true
        UNION ALL SELECT 1, name, token, 0, 0 FROM own
        UNION ALL
        SELECT 2, l.name, 0, 0, 0 FROM lease l, f
        WHERE f.is_same AND f.may_grant AND l.name <> 'feed' AND (l.owner IS NULL OR l.owner <> $1 AND l.until <= f.now)
        """
    }

    private static func renewal(_ rows: [[PostgresValue]]) throws -> (Renewal, membership: Int64, time: Int)? {
        guard let me = try rows.first(where: { row throws in try row.int(0) == 0 }), me[2] != .null else { return nil }
        let incarnation = try me.text(1)
        var renewal = Renewal(leases: [], workers: try me.int(3), free: [])
        for row in rows {
            guard let name = LeaseName(try row.text(1)) else { continue }
            switch (try row.int(0), name) {
            case (1, _): renewal.leases.append(Lease(name: name, token: try row.int64(2), incarnation: incarnation))
            case (2, .partition(let number)): renewal.free.append(number)
            default: break
            }
        }
        renewal.free.sort()
        return (renewal, try me.int64(2), try me.int(4))
    }

    /// `$1` owner, `$2` partitions, `$3` how many, `$4` duration of a lease in ms.
    ///
    /// Leases that other members are taking or changing right now are left out. The membership of members that lose a
    /// lease, or whose lease has expired, ends.
    private static func claims(_ identity: WorkLogIdentity) -> String {
        """
        WITH \(identity.state),
        wanted AS MATERIALIZED (
            SELECT l.name, l.owner, w.place
            FROM f, unnest($2::int[]) WITH ORDINALITY w (partition, place) JOIN lease l ON l.name = w.partition::text
            WHERE f.is_same AND f.may_grant AND (l.owner IS NULL OR l.owner = $1 OR l.until <= clock_timestamp())
            ORDER BY w.place LIMIT $3::int FOR NO KEY UPDATE OF l SKIP LOCKED),
        taken AS (
            UPDATE lease l
            SET owner = $1, token = l.token + 1, until = clock_timestamp() + $4::bigint * interval '1 millisecond'
            FROM wanted w WHERE l.name = w.name
            RETURNING l.name::smallint AS partition, l.token, w.place, w.owner),
        total AS (
            UPDATE fleet SET takeovers = takeovers + t.count
            FROM (SELECT count(owner) FROM taken) t WHERE t.count > 0),
        counted AS (
            -- An owner that lives was only cut off.
            UPDATE partition_position p SET takeovers = p.takeovers + (CASE WHEN t.owner IS NULL OR t.owner = $1
                OR EXISTS (SELECT FROM member m WHERE m.owner = t.owner AND m.until > clock_timestamp())
                THEN 0 ELSE 1 END)
            FROM taken t WHERE p.partition = t.partition
            RETURNING p.partition, t.token, p.position, p.version, p.takeovers, t.place),
        gone AS (
            \(endMembership) WHERE membership IS NOT NULL AND owner <> $1 AND (SELECT count(*) FROM counted) >= 0
            AND (until < clock_timestamp() OR owner IN (SELECT owner FROM taken)))
        SELECT f.is_same, f.incarnation, c.partition, c.token, c.position, c.version, c.takeovers
        FROM f LEFT JOIN counted c ON true ORDER BY c.place
        """
    }
}

extension Claim {
    fileprivate init(row: [PostgresValue]) throws(PostgresError) {
        let partition = try row.int(2)
        let lease = Lease(name: .partition(partition), token: try row.int64(3), incarnation: try row.text(1))
        self.init(
            lease: lease, partition: partition, position: try row.int64(4), version: try row.int64(5),
            takeovers: try row.int(6))
    }

    /// The same with the position, version and takeovers of a row.
    func with(_ row: [PostgresValue]) throws(PostgresError) -> Claim {
        Claim(
            lease: lease, partition: partition, position: try row.int64(0), version: try row.int64(1),
            takeovers: try row.int(2))
    }
}
