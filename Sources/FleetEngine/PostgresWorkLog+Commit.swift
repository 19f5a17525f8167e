package import Fleet
internal import PostgreSQL

extension PostgresWorkLog {
    package func commit(_ claim: Claim, _ outcome: PartitionOutcome) async throws(WorkLogError) -> Claim {
        let values =
            claim.lease.parameters(owner) + [
                .int(claim.partition), .int(Int(claim.version)), .int(Int(claim.position)), .int(Int(outcome.position)),
                .int(outcome.releases ? 1 : 0),
            ]
        let rest = Self.statements(for: outcome, of: owner, partition: claim.partition)
        let dead = Self.latest(outcome.dead, by: \.change.n)
        return try await fenced.counting { [working, keepDeadLetters] () async throws(WorkLogError) in
            // One round trip.
            if rest.isEmpty { return try await working.change { try Self.move(claim, values, $0.connection) } }
            return try await working.call { session in
                try session.connection.transaction { connection in
                    let moved = try Self.move(claim, values, connection)
                    for statement in rest { try connection.run(statement.sql, statement.values) }
                    if !dead.isEmpty { try keepDeadLetters(dead, connection) }
                    return moved
                }
            }
        }
    }

    private static func move(
        _ claim: Claim, _ values: [PostgresValue], _ connection: PostgresConnection
    ) throws -> Claim {
        let row = try connection.run(movePosition, values).rows.first
        guard let row else { throw WorkLogError.fenced("the lease is void, or another commit came first") }
        return try claim.with(row)
    }

    /// `$1` to `$4` the lease, `$5` partition, `$6` the known version, `$7` the old position, `$8` the new position,
    /// `$9` whether the lease ends. No row: fenced.
    ///
    /// No row is at or below the old position. Naming it spares the server a scan over deleted rows.
    private static let movePosition = """
        WITH l AS MATERIALIZED (
            SELECT FROM lease l, fleet f
            WHERE l.name = $1 AND l.owner = $2 AND l.token = $3 AND f.incarnation = $4 FOR NO KEY UPDATE OF l),
        p AS (
            UPDATE partition_position p SET position = $8::bigint, version = version + 1,
                takeovers = CASE WHEN $8::bigint > position THEN 0 ELSE takeovers END
            FROM l WHERE p.partition = $5::smallint AND p.version = $6::bigint AND p.position <= $8::bigint
            RETURNING p.position, p.version, p.takeovers),
        w AS (
            DELETE FROM work WHERE partition = $5::smallint AND n > $7::bigint AND n <= $8::bigint
            AND EXISTS (SELECT FROM p)),
        r AS (UPDATE lease SET owner = NULL WHERE name = $1 AND $9::int = 1 AND EXISTS (SELECT FROM p))
        SELECT position, version, takeovers FROM p
        """

    // MARK: What else is stored

    private struct Statement: Sendable {
        var sql: String
        var values: [PostgresValue]
    }

    /// In the order of the outcome's properties. Each statement names a row only once, because it cannot change a row
    /// twice.
    private static func statements(for outcome: PartitionOutcome, of owner: String, partition: Int) -> [Statement] {
        func statement<Element>(
            _ sql: String, _ elements: [Element], _ values: ([Element]) -> [PostgresValue]
        ) -> Statement? {
            elements.isEmpty ? nil : Statement(sql: sql, values: [.int(partition)] + values(elements))
        }
        let begun = outcome.attempted.filter { !$0.isParked }
        let retried = outcome.attempted.filter(\.isParked)
        return [
            statement(unparking, outcome.unparked) { [SQLArray.bytes($0.map(\.bytes))] },
            statement(insertingDead, latest(outcome.dead, by: \.change.n)) { dead in
                columns(dead.map(\.change)) + [
                    SQLArray.counts(dead.map(\.change.attempts)), reasons(dead.map(\.reason)),
                ]
            },
            statement(parking, latest(outcome.parked, by: \.change.id)) { parked in
                let delays = parked.map { Int64($0.delay.wholeMilliseconds) }
                return columns(parked.map(\.change))
                    + [
                        isolatedAttempts(parked.map(\.change.isolatedAttempts)), reasons(parked.map(\.reason)),
                        SQLArray.numbers(delays),
                    ]
            },
            statement(joining, merged(outcome.joined)) { columns($0) + [isolatedAttempts($0.map(\.isolatedAttempts))] },
            statement(attempting, latest(begun, by: \.n)) { attempts in
                [
                    SQLArray.numbers(attempts.map(\.n)),
                    isolatedAttempts(attempts.map { $0.isolatedAttempts(of: owner) }),
                ]
            },
            statement(retrying, latest(retried, by: \.id)) { attempts in
                [
                    SQLArray.bytes(attempts.map(\.id.bytes)),
                    isolatedAttempts(attempts.map { $0.isolatedAttempts(of: owner) }),
                ]
            },
        ].compactMap { $0 }
    }

    /// The last element of each key.
    private static func latest<Element, Key: Hashable>(_ all: [Element], by key: (Element) -> Key) -> [Element] {
        var last: [Key: Int] = [:]
        for (place, element) in all.enumerated() { last[key(element)] = place }
        return last.values.sorted().map { all[$0] }
    }

    /// One change for each document: all of its changes, joined in order.
    private static func merged(_ all: [LoggedChange]) -> [LoggedChange] {
        var changes: [LoggedChange] = []
        var places: [DocumentKey: Int] = [:]
        for change in all {
            guard let place = places[change.id] else {
                places[change.id] = changes.count
                changes.append(change)
                changes[changes.count - 1].parks = max(change.parks, 1)
                continue
            }
            guard changes[place].n < change.n else { continue }
            (changes[place].n, changes[place].entry) = (change.n, change.entry)
        }
        return changes
    }

    /// `$2` places, `$3` first places, `$4` sequences, `$5` ids, `$6` revisions, `$7` kinds, `$8` parks.
    private static func columns(_ changes: [LoggedChange]) -> [PostgresValue] {
        [
            SQLArray.numbers(changes.map(\.n)), SQLArray.numbers(changes.map(\.firstPosition)),
            SQLArray.texts(changes.map(\.entry.sequence)), SQLArray.bytes(changes.map(\.id.bytes)),
            SQLArray.bytes(changes.map(\.entry.revisionBytes)),
            SQLArray.smallNumbers(changes.map(\.entry.kind.rawValue)), SQLArray.counts(changes.map(\.parks)),
        ]
    }

    private static func isolatedAttempts(_ attempts: [IsolatedAttempts]) -> PostgresValue {
        SQLArray.texts(attempts.map(\.text))
    }

    private static func reasons(_ reasons: [String]) -> PostgresValue { SQLArray.texts(reasons.map(\.storable)) }

    private static let arrays = """
        $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[], $7::smallint[], $8::int[]
        """
    private static let names = "n, first_n, seq, id, rev, kind, parks"

    private static let unparking = "DELETE FROM parked WHERE partition = $1 AND id = ANY ($2::bytea[])"

    private static let insertingDead = """
        INSERT INTO dead_change (partition, at, \(names), attempts, reason)
        SELECT $1::smallint, clock_timestamp(), d.* FROM unnest(\(arrays), $9::int[], $10::text[]) d
        ON CONFLICT (n) DO UPDATE SET partition = excluded.partition, at = excluded.at, first_n = excluded.first_n,
            seq = excluded.seq, id = excluded.id, rev = excluded.rev, kind = excluded.kind,
            attempts = excluded.attempts, parks = excluded.parks, reason = excluded.reason
        """

    private static let parking = """
        INSERT INTO parked (partition, \(names), tries, reason, due)
        SELECT $1::smallint, \(names), tries, reason, (SELECT clock_timestamp()) + delay * interval '1 millisecond'
        FROM unnest(\(arrays), $9::text[], $10::text[], $11::bigint[]) d (\(names), tries, reason, delay)
        ON CONFLICT (partition, id) DO UPDATE SET n = excluded.n, first_n = excluded.first_n, seq = excluded.seq,
            rev = excluded.rev, kind = excluded.kind, tries = excluded.tries, parks = excluded.parks,
            reason = excluded.reason, due = excluded.due
        """

    private static let joining = """
        INSERT INTO parked (partition, \(names), tries, reason, due)
        SELECT $1::smallint, d.*, 'a later change of a document that was parked', (SELECT clock_timestamp())
        FROM unnest(\(arrays), $9::text[]) d
        ON CONFLICT (partition, id) DO UPDATE SET n = excluded.n, seq = excluded.seq, rev = excluded.rev,
            kind = excluded.kind
        WHERE parked.n < excluded.n
        """

    private static let attempting = """
        UPDATE work w SET tries = a.tries FROM unnest($2::bigint[], $3::text[]) a (n, tries)
        WHERE w.partition = $1::smallint AND w.n = a.n
        """

    private static let retrying = """
        UPDATE parked p SET tries = a.tries FROM unnest($2::bytea[], $3::text[]) a (id, tries)
        WHERE p.partition = $1::smallint AND p.id = a.id
        """
}
