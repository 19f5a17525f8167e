package import Fleet
internal import Locking
internal import PostgreSQL

extension PostgresWorkLog {
    /// How long to wait between two polls.
    private static let minPollInterval = Duration.milliseconds(50)
    private static let maxPollInterval = Duration.milliseconds(100)

    /// Asks once, then again every 50 to 100 ms: one statement that reads two index entries for each partition.
    package func pendingWork(_ readPositions: [ReadPosition], within time: Duration) async throws(WorkLogError)
        -> [PendingWork]
    {
        let end = ContinuousClock.now + time
        var pause = Self.minPollInterval
        while true {
            let found = try await pendingWork(readPositions)
            let left = end - .now
            guard found.isEmpty, left > .zero else { return found }
            do { try await Task.sleep(for: min(pause, left)) } catch { throw .unavailable("cancelled") }
            pause = min(pause * 5 / 4, Self.maxPollInterval)
        }
    }

    private func pendingWork(_ readPositions: [ReadPosition]) async throws(WorkLogError) -> [PendingWork] {
        let claims = readPositions.map(\.claim)
        let values: [PostgresValue] = [
            .text(owner), SQLArray.smallNumbers(claims.map(\.partition)), SQLArray.numbers(claims.map(\.lease.token)),
            SQLArray.texts(claims.map(\.lease.incarnation)), SQLArray.numbers(readPositions.map(\.readUpTo)),
        ]
        return try await working.call { session in
            try session.connection.run(Self.latestPendingWork, values).rows.map { row in
                PendingWork(partition: try row.int(0), hasChanges: try row.bool(1), hasDue: try row.bool(2))
            }
        }
    }

    package func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        let values = claim.lease.parameters(owner) + [.int(claim.partition), .int(Int(n)), .int(limit)]
        return try await working.call { [owner] session in
            let rows = try session.connection.run(Self.nextChanges, values).rows
            guard !rows.isEmpty else { throw WorkLogError.voidLease }
            return try rows.filter { $0[0] != .null }.map { row in
                var change = try LoggedChange(row: row, of: owner)
                change.isParked = try row.bool(7)
                return change
            }
        }
    }

    package func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        let values = claim.lease.parameters(owner) + [.int(claim.partition), .int(limit)]
        return try await working.call { [owner] session in
            let rows = try session.connection.run(Self.dueChanges, values).rows
            guard !rows.isEmpty else { throw WorkLogError.voidLease }
            return try rows.filter { $0[0] != .null }.map { row in
                var change = try LoggedChange(row: row, of: owner)
                (change.firstPosition, change.parks) = (try row.int64(7), try row.int(8))
                return change
            }
        }
    }

    /// SQL: the current members' owners, separated by spaces. A process that no longer shares the work, because its
    /// lease expired, is included while it renews its membership.
    private static let living = """
        SELECT string_agg(owner, ' ') FROM member
        WHERE until > clock_timestamp() AND (membership IS NOT NULL OR program <> '')
        """

    package func backlog() async throws(WorkLogError) -> Backlog {
        return try await leading.call { [fenced] session in
            let rows = try session.connection.run(Self.facts).rows
            let parts = try rows.map { row in
                Backlog.Part(
                    partition: try row.int(0), owner: row[1].text, position: try row.int64(2), entries: try row.int(3),
                    oldestAge: row[4].int.map { .milliseconds($0) }, parked: try row.int(5))
            }
            return Backlog(
                parts: parts, leader: rows.first?[6].text, dead: try rows.first?.int(7) ?? 0,
                takeovers: try rows.first?.int(8) ?? 0, fencedCommits: fenced.count)
        }
    }
}

// MARK: - Statements

extension PostgresWorkLog {
    /// `$1` owner, then arrays: `$2` partitions, `$3` tokens, `$4` incarnations, `$5` the last places that were read.
    private static let latestPendingWork = """
        SELECT i.partition, x.has_changes, x.has_due
        FROM unnest($2::smallint[], $3::bigint[], $4::text[], $5::bigint[]) i (partition, token, incarnation, n)
        JOIN fleet f ON f.incarnation = i.incarnation
        JOIN lease l ON l.name = i.partition::text AND l.owner = $1 AND l.token = i.token
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM work w WHERE w.partition = i.partition AND w.n > i.n) AS has_changes,
                EXISTS (SELECT FROM parked p WHERE p.partition = i.partition AND p.due <= clock_timestamp()) AS has_due
            OFFSET 0) x
        WHERE x.has_changes OR x.has_due
        """

    /// `$1` to `$4` the lease, `$5` partition, `$6` after this place, `$7` how many. No row: fenced. A row without `n`:
    /// there is nothing.
    private static let nextChanges = """
        SELECT w.n, w.seq, w.id, w.rev, w.kind, w.tries, CASE WHEN w.tries <> '' THEN (\(living)) END, w.is_parked
        FROM (
            SELECT FROM lease l, fleet f
            WHERE l.name = $1 AND l.owner = $2 AND l.token = $3 AND f.incarnation = $4) l
        LEFT JOIN LATERAL (
            SELECT k.n, k.seq, k.id, k.rev, k.kind, k.tries,
                EXISTS (SELECT FROM parked p WHERE p.partition = k.partition AND p.id = k.id) AS is_parked
            FROM work k WHERE k.partition = $5::smallint AND k.n > $6::bigint ORDER BY k.n LIMIT $7::int) w ON true
        ORDER BY w.n
        """

    /// `$1` to `$4` the lease, `$5` partition, `$6` how many. As ``nextChanges``.
    private static let dueChanges = """
        SELECT w.n, w.seq, w.id, w.rev, w.kind, w.tries, CASE WHEN w.tries <> '' THEN (\(living)) END, w.first_n, w.parks
        FROM (
            SELECT FROM lease l, fleet f
            WHERE l.name = $1 AND l.owner = $2 AND l.token = $3 AND f.incarnation = $4) l
        LEFT JOIN LATERAL (
            SELECT * FROM parked p WHERE p.partition = $5::smallint AND p.due <= clock_timestamp()
            ORDER BY p.due, p.first_n LIMIT $6::int) w ON true
        ORDER BY w.due, w.first_n
        """

    /// One row for each partition; the last three columns are the same in all rows.
    private static let facts = """
        WITH w AS (SELECT partition, count(*) AS entries, min(n) AS first FROM work GROUP BY partition),
        k AS (SELECT partition, count(*) AS parked FROM parked GROUP BY partition)
        SELECT p.partition, CASE WHEN l.until > clock_timestamp() THEN l.owner END, p.position, coalesce(w.entries, 0),
            (SELECT (extract(epoch FROM clock_timestamp() - o.at) * 1000)::bigint FROM work o
                WHERE o.partition = w.partition AND o.n = w.first),
            coalesce(k.parked, 0),
            (SELECT owner FROM lease WHERE name = 'feed' AND until > clock_timestamp()),
            (SELECT count(*) FROM dead_change), f.takeovers
        FROM fleet f, partition_position p JOIN lease l ON l.name = p.partition::text
        LEFT JOIN w ON w.partition = p.partition LEFT JOIN k ON k.partition = p.partition
        ORDER BY p.partition
        """
}

extension LoggedChange {
    /// - Parameter row: Place, sequence, id, revisions, kind, attempts in isolation, and the current owners if there
    ///   are such attempts.
    init(row: [PostgresValue], of owner: String) throws(PostgresError) {
        let number = try row.int(4)
        guard let kind = FeedEntry.Kind(rawValue: number) else {
            throw .badAnswer(
                reason: "the log has a change of an unknown kind, \(number); run the newest version on all members")
        }
        let entry = FeedEntry(
            kind: kind, sequence: try row.text(1), id: DocumentKey(bytes: try row.bytes(2)),
            revisionBytes: try row.bytes(3))
        let living = (row[6].text ?? "").split(separator: " ").map(String.init) + [owner]
        self.init(
            n: try row.int64(0), entry: entry, isolatedAttempts: IsolatedAttempts(text: try row.text(5)).without(living)
        )
    }
}
