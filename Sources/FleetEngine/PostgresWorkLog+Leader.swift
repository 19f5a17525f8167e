package import Fleet
internal import Locking
internal import PostgreSQL

extension PostgresWorkLog {
    package func lead() async throws(WorkLogError) -> Term? {
        let values: [PostgresValue] = [.text(owner), .int(leaseTime.wholeMilliseconds)]
        return try await granting(leading) { session -> Term?? in
            let row = try session.connection.run(Self.leadership(session.identity), values).rows.first
            guard let row, try row.bool(0) else { return nil }
            guard row[2] != .null else { return .some(nil) }
            let lease = Lease(name: .feed, token: try row.int64(2), incarnation: try row.text(1))
            return Term(lease: lease, sequence: row[3].text, n: try row.int64(4))
        }
    }

    package func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term {
        let values =
            term.lease.parameters(owner) + [
                sequence.map { .text($0) } ?? .null, .int(entries.count), .int(Int(term.n)),
                SQLArray.smallNumbers(entries.map { Partitioning.partition(of: $0.id, among: partitions) }),
                SQLArray.texts(entries.map(\.sequence)), SQLArray.bytes(entries.map(\.id.bytes)),
                SQLArray.bytes(entries.map(\.revisionBytes)), SQLArray.smallNumbers(entries.map(\.kind.rawValue)),
            ]
        return try await fenced.counting { [leading] () async throws(WorkLogError) in
            try await leading.change { session in
                let row = try session.connection.run(Self.appending, values).rows.first
                guard let row else { throw WorkLogError.fenced("the lease is void, or the log does not end there") }
                return Term(lease: term.lease, sequence: row[1].text, n: try row.int64(0))
            }
        }
    }

    package func answered() async throws(WorkLogError) -> AnsweredPosition? {
        // Repeating the deletion is harmless.
        try await leading.call { session in
            try session.connection.run(Self.answeredMark).rows.first.map { row in
                AnsweredPosition(n: try row.int64(0), sequence: try row.text(1))
            }
        }
    }

    package func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool {
        try await leading.call { session in
            let values: [PostgresValue] = [.int(Int(n)), .int(FeedEntry.Kind.uncounted.rawValue)]
            return try session.connection.run(Self.passed, values).rows.first?.bool(0) ?? false
        }
    }
}

// MARK: - Statements

extension PostgresWorkLog {
    /// `$1` owner, `$2` duration of a lease in ms. One row, without a token if another member leads.
    private static func leadership(_ identity: WorkLogIdentity) -> String {
        """
        WITH \(identity.state),
        wanted AS MATERIALIZED (
            SELECT l.owner FROM lease l, f
            WHERE l.name = 'feed' AND f.is_same AND f.may_grant
            AND (l.owner IS NULL OR l.owner = $1 OR l.until <= clock_timestamp()) FOR NO KEY UPDATE OF l),
        taken AS (
            UPDATE lease l SET owner = $1, token = l.token + 1, direct = false,
                until = clock_timestamp() + $2::bigint * interval '1 millisecond'
            FROM wanted w WHERE l.name = 'feed' RETURNING l.token, w.owner),
        -- The line is locked, so that its newest state is read: an append may have been under way.
        log AS MATERIALIZED (
            SELECT fleet.seq, fleet.n FROM fleet, taken WHERE taken.token IS NOT NULL FOR NO KEY UPDATE OF fleet),
        total AS (UPDATE fleet SET takeovers = takeovers + 1 FROM taken, log WHERE taken.owner IS NOT NULL),
        gone AS (
            \(endMembership) WHERE membership IS NOT NULL AND owner <> $1 AND (SELECT count(*) FROM taken) >= 0
            AND (until < clock_timestamp() OR owner IN (SELECT owner FROM taken)))
        SELECT f.is_same, f.incarnation, taken.token, log.seq, log.n
        FROM f LEFT JOIN taken ON true LEFT JOIN log ON true
        """
    }

    /// `$1` to `$4` the lease, `$5` sequence or null, `$6` how many changes, `$7` the place where the log must end;
    /// then arrays: `$8` partitions, `$9` sequences, `$10` ids, `$11` revisions, `$12` kinds. No row: fenced.
    private static let appending = """
        WITH l AS MATERIALIZED (
            SELECT FROM lease WHERE name = $1 AND owner = $2 AND token = $3 FOR NO KEY UPDATE),
        f AS (
            UPDATE fleet SET seq = coalesce($5, seq), n = n + $6::int FROM l WHERE n = $7 AND incarnation = $4
            RETURNING fleet.n, fleet.seq),
        w AS (
            INSERT INTO work (partition, n, seq, id, rev, kind, at)
            SELECT w.partition, $7::bigint + w.place, w.seq, w.id, w.rev, w.kind, clock_timestamp()
            FROM f, unnest($8::smallint[], $9::text[], $10::bytea[], $11::bytea[], $12::smallint[])
                WITH ORDINALITY w (partition, seq, id, rev, kind, place)),
        m AS (
            INSERT INTO mark (n, seq) SELECT n, seq FROM f WHERE seq IS NOT NULL
            ON CONFLICT (n) DO UPDATE SET seq = excluded.seq)
        SELECT n, seq FROM f
        """

    /// `$1` a place, `$2` the kind of changes that may not be parked.
    private static let passed = """
        SELECT NOT EXISTS (SELECT FROM partition_position p, LATERAL (
                SELECT FROM work WHERE partition = p.partition AND n > p.position AND n <= $1::bigint LIMIT 1) w)
            AND NOT EXISTS (SELECT FROM parked WHERE first_n <= $1::bigint AND kind = $2::int)
        """

    /// The newest mark below the oldest change that is not answered. Deletes the marks before it.
    private static let answeredMark = """
        WITH oldest AS MATERIALIZED (
            SELECT least(
                (SELECT min(w.n) FROM partition_position p, LATERAL (
                    SELECT n FROM work WHERE partition = p.partition AND n > p.position ORDER BY n LIMIT 1) w),
                (SELECT min(first_n) FROM parked)) AS n),
        newest AS MATERIALIZED (
            SELECT m.n, m.seq FROM mark m, oldest o WHERE o.n IS NULL OR m.n < o.n ORDER BY m.n DESC LIMIT 1),
        pruned AS (DELETE FROM mark USING newest WHERE mark.n < newest.n)
        SELECT n, seq FROM newest
        """
}
