internal import Encodings
internal import Fleet
internal import FoundationEssentials

/// One transaction on a log in a state's file: what each call of ``SQLiteWorkLog`` does with the tables.
///
/// Every check comes before the first change.
final class SQLiteLog {
    let incarnation: String
    /// How many transactions have changed the log.
    private(set) var changes: Int
    private let session: any StateSession
    private let owner: String
    /// Milliseconds since 1970.
    private let now: Int
    private let until: Int
    private let mayGrant: Bool

    /// Reads what every call needs.
    init(_ session: any StateSession, owner: String, now: Int, leaseTime: Int) throws {
        guard let row = try session.rows("SELECT incarnation, changes, quiet_until FROM fleet").first else {
            throw WorkLogError.refused("the table fleet is empty: it was made by something else, or damaged")
        }
        (incarnation, changes) = (row[0], row[1])
        mayGrant = now >= row[2]
        (self.session, self.owner, self.now) = (session, owner, now)
        until = now + leaseTime
    }

    /// To be called in each transaction that changes something.
    private func noteChange() throws {
        changes += 1
        try session.execute("UPDATE fleet SET changes = ?", [changes])
    }

    // MARK: - Beginning

    func beginAlone() throws {
        try session.execute("UPDATE work_lease SET until = 0")
        try session.execute("DELETE FROM work_member")
        try session.execute("UPDATE fleet SET incarnation = ?, quiet_until = 0", [UUID().uuidString])
        try noteChange()
    }

    /// The file is older than what was seen of it: no lease holds, and none is granted while somebody may trust one.
    func beginAfterLoss() throws {
        try session.execute("UPDATE work_lease SET owner = NULL")
        try session.execute("DELETE FROM work_member")
        try session.execute(
            "UPDATE fleet SET incarnation = ?, quiet_until = ?", [UUID().uuidString, until])
    }

    // MARK: - Leases

    func renew(works: Bool) throws -> Fleet.Renewal {
        try session.execute("DELETE FROM work_member WHERE until <= ?", [now])
        try session.execute(
            """
            INSERT INTO work_member (owner, works, until) VALUES (?, ?, ?)
            ON CONFLICT (owner) DO UPDATE SET works = excluded.works, until = excluded.until
            """, [owner, works, until])
        let held = try session.rows(
            "UPDATE work_lease SET until = ? WHERE owner = ? RETURNING name, token", [until, owner])
        try noteChange()
        let free =
            try mayGrant
            ? session.values(
                String.self,
                "SELECT name FROM work_lease WHERE name <> 'feed' AND (owner IS NULL OR owner <> ? AND until <= ?)",
                [owner, now]) : []
        return Fleet.Renewal(
            leases: held.compactMap { row in LeaseName(row[0]).map { lease($0, row[1]) } },
            workers: try session.value(Int.self, "SELECT COUNT(*) FROM work_member WHERE works = 1") ?? 0,
            free: free.compactMap { Int($0) }.sorted())
    }

    func claim(_ partitions: [Int], atMost limit: Int) throws -> [Claim] {
        var claims: [Claim] = []
        for partition in partitions where claims.count < limit && !claims.contains(where: { $0.partition == partition })
        {
            let name = LeaseName.partition(partition)
            guard let (token, former) = try take(name) else { continue }
            // Who lives was only cut off.
            if let former, try !living().contains(former) {
                try session.execute(
                    "UPDATE partition_position SET takeovers = takeovers + 1 WHERE partition = ?", [partition])
            }
            claims.append(try state(of: partition, lease(name, token)))
        }
        return claims
    }

    func lead() throws -> Term? {
        guard let (token, _) = try take(.feed), let log = try session.rows("SELECT seq, n FROM fleet").first else {
            return nil
        }
        return Term(lease: lease(.feed, token), sequence: log[0], n: log.n(1))
    }

    /// - Returns: Nil if somebody has it, or there is no such lease.
    private func take(_ name: LeaseName) throws -> (token: Int, former: String?)? {
        guard mayGrant else { return nil }
        let free = try session.rows(
            "SELECT owner FROM work_lease WHERE name = ? AND (owner IS NULL OR owner = ? OR until <= ?)",
            ["\(name)", owner, now])
        guard let line = free.first else { return nil }
        let former: String? = line[0]
        let token = try session.value(
            Int.self, "UPDATE work_lease SET owner = ?, token = token + 1, until = ? WHERE name = ? RETURNING token",
            [owner, until, "\(name)"])
        if former != nil { try session.execute("UPDATE fleet SET takeovers = takeovers + 1") }
        try noteChange()
        return token.map { ($0, former) }
    }

    private func living() throws -> [String] {
        try session.values(String.self, "SELECT owner FROM work_member WHERE until > ?", [now]) + [owner]
    }

    func release(_ lease: Lease) throws {
        guard try holds(lease) else { return }
        try session.execute("UPDATE work_lease SET owner = NULL WHERE name = ?", ["\(lease.name)"])
        try noteChange()
    }

    func leave() throws {
        try session.execute("UPDATE work_lease SET owner = NULL WHERE owner = ?", [owner])
        try session.execute("DELETE FROM work_member WHERE owner = ?", [owner])
        try noteChange()
    }

    private func lease(_ name: LeaseName, _ token: Int) -> Lease {
        Lease(name: name, token: Int64(token), incarnation: incarnation)
    }

    private func holds(_ lease: Lease) throws -> Bool {
        guard lease.incarnation == incarnation else { return false }
        let found = try session.rows(
            "SELECT 1 FROM work_lease WHERE name = ? AND owner = ? AND token = ?",
            ["\(lease.name)", owner, Int(lease.token)])
        return !found.isEmpty
    }

    /// - Throws: ``WorkLogError`` `.fenced`.
    func check(_ lease: Lease) throws {
        guard try holds(lease) else { throw WorkLogError.fenced("the lease is void") }
    }

    func state(of partition: Int, _ lease: Lease) throws -> Claim {
        let row = try session.rows(
            "SELECT position, version, takeovers FROM partition_position WHERE partition = ?", [partition])
        guard let row = row.first else { throw WorkLogError.fenced("the lease is void") }
        return Claim(
            lease: lease, partition: partition, position: row.n(0), version: row.n(1), takeovers: row[2])
    }

    // MARK: - The leader

    func append(_ entries: [FeedEntry], upTo sequence: String?, _ term: Term, among partitions: Int) throws -> Term {
        try check(term.lease)
        guard try session.value(Int.self, "SELECT n FROM fleet") == Int(term.n) else {
            throw WorkLogError.fenced("the log does not end there")
        }
        let rows = zip(entries, Int(term.n + 1)...).map { entry, n -> [(any StateArgument)?] in
            [
                Partitioning.partition(of: entry.id, among: partitions), n, entry.sequence, StoredBytes(entry.id),
                StoredBytes(entry.revisionBytes), entry.kind.rawValue, now,
            ]
        }
        try session.executeEach(
            "INSERT INTO work (partition, n, seq, id, rev, kind, at) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
        )
        let end = Int(term.n) + entries.count
        let reached = try session.value(
            String.self, "UPDATE fleet SET seq = COALESCE(?, seq), n = ? RETURNING seq", [sequence, end])
        if let reached {
            try session.execute(
                "INSERT INTO mark (n, seq) VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET seq = excluded.seq",
                [end, reached])
        }
        try noteChange()
        return Term(lease: term.lease, sequence: reached, n: Int64(end))
    }

    func hasPassed(_ n: Int64) throws -> Bool {
        try session.value(
            Bool.self,
            """
            SELECT NOT EXISTS (SELECT 1 FROM partition_position p
                    WHERE (SELECT MIN(n) FROM work WHERE work.partition = p.partition) <= ?1)
                AND NOT EXISTS (SELECT 1 FROM parked WHERE first_n <= ?1 AND kind = ?2)
            """, [Int(n), FeedEntry.Kind.uncounted.rawValue]) ?? false
    }

    func answered() throws -> Answered? {
        let oldest = try session.value(
            Int.self,
            """
            SELECT MIN(n) FROM (
                SELECT (SELECT MIN(n) FROM work WHERE work.partition = p.partition) AS n FROM partition_position p
                UNION ALL SELECT MIN(first_n) FROM parked)
            """)
        let newest = try session.rows(
            "SELECT n, seq FROM mark WHERE n < ? ORDER BY n DESC LIMIT 1", [oldest ?? Int.max])
        guard let newest = newest.first else { return nil }
        if try session.execute("DELETE FROM mark WHERE n < ?", [newest[0] as Int]) > 0 { try noteChange() }
        return Answered(n: newest.n(0), sequence: newest[1])
    }

    // MARK: - Workers

    func news(_ interests: [Interest]) throws -> [News] {
        try interests.filter { try holds($0.claim.lease) }.compactMap { interest in
            let partition = interest.claim.partition
            let row = try session.rows(
                """
                SELECT EXISTS (SELECT 1 FROM work WHERE partition = ?1 AND n > ?2),
                    EXISTS (SELECT 1 FROM parked WHERE partition = ?1 AND due <= ?3)
                """, [partition, Int(interest.readUpTo), now])[0]
            let news = News(partition: partition, hasChanges: row[0], hasDue: row[1])
            return news.hasChanges || news.hasDue ? news : nil
        }
    }

    /// How long until a parked change of these is due. Nil: none is parked.
    func timeUntilDue(_ partitions: [Int]) throws -> Duration? {
        try partitions.compactMap { partition in
            try session.value(Int.self, "SELECT MIN(due) FROM parked WHERE partition = ?", [partition])
        }.min().map { .milliseconds(max(0, $0 - now)) }
    }

    func next(_ claim: Claim, after n: Int64, limit: Int) throws -> [LoggedChange] {
        try check(claim.lease)
        return try session.rows(
            """
            SELECT n, seq, id, rev, kind, tries,
                EXISTS (SELECT 1 FROM parked p WHERE p.partition = w.partition AND p.id = w.id)
            FROM work w WHERE partition = ? AND n > ? ORDER BY n LIMIT ?
            """, [claim.partition, Int(n), limit]
        ).map { row in
            var change = try change(row)
            change.isParked = row[6]
            return change
        }
    }

    func due(_ claim: Claim, limit: Int) throws -> [LoggedChange] {
        try check(claim.lease)
        return try session.rows(
            """
            SELECT n, seq, id, rev, kind, tries, first_n, parks FROM parked
            WHERE partition = ? AND due <= ? ORDER BY due, first_n LIMIT ?
            """, [claim.partition, now, limit]
        ).map { row in
            var change = try change(row)
            (change.firstN, change.parks) = (row.n(6), row[7])
            return change
        }
    }

    /// Without the tries of members that live.
    private func change(_ row: StateRow) throws -> LoggedChange {
        var change = try LoggedChange(row)
        if !change.tries.isEmpty { change.tries = change.tries.without(try living()) }
        return change
    }

    func commit(_ claim: Claim, _ outcome: Outcome) throws -> Claim {
        try check(claim.lease)
        let (partition, position) = (claim.partition, Int(outcome.position))
        let moved = try session.execute(
            """
            UPDATE partition_position SET position = ?1, version = version + 1,
                takeovers = CASE WHEN ?1 > position THEN 0 ELSE takeovers END
            WHERE partition = ?2 AND version = ?3 AND position <= ?1
            """, [position, partition, Int(claim.version)])
        guard moved > 0 else { throw WorkLogError.fenced("another commit came between") }
        try session.execute("DELETE FROM work WHERE partition = ? AND n <= ?", [partition, position])
        try session.executeEach(
            "DELETE FROM parked WHERE partition = ? AND id = ?", outcome.unparked.map { [partition, StoredBytes($0)] })
        try bury(outcome.dead, partition)
        try session.executeEach(
            """
            INSERT OR REPLACE INTO parked (partition, \(Self.columns), tries, reason, due)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            outcome.parked.map { parking in
                [partition] + Self.values(parking.change)
                    + [parking.change.tries.text, WholeText(parking.reason), now + parking.delay.wholeMilliseconds]
            })
        try session.executeEach(
            """
            INSERT INTO parked (partition, \(Self.columns), tries, due, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, MAX(1, ?), ?, ?, CAST('a later change of a document that was parked' AS BLOB))
            ON CONFLICT (partition, id) DO UPDATE SET n = excluded.n, seq = excluded.seq, rev = excluded.rev,
                kind = excluded.kind WHERE parked.n < excluded.n
            """,
            outcome.joined.map { [partition] + Self.values($0) + [$0.tries.text, now] })
        try note(outcome.attempted, partition)
        if outcome.releases {
            try session.execute("UPDATE work_lease SET owner = NULL WHERE name = ?", ["\(claim.lease.name)"])
        }
        try noteChange()
        return try state(of: partition, claim.lease)
    }

    private func bury(_ dead: [DeadChange], _ partition: Int) throws {
        try session.executeEach(
            """
            INSERT OR REPLACE INTO dead_change (partition, \(Self.columns), attempts, reason, at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            dead.map { dead in
                [partition] + Self.values(dead.change) + [dead.change.attempts, WholeText(dead.reason), now]
            })
        try session.executeEach(
            """
            INSERT INTO dead_letter (sequence, id, revision, attempts, reason, set_aside_at, rule_set)
            VALUES (?, ?, ?, ?, ?, ?, '')
            """,
            dead.map { dead in
                let entry = dead.change.entry
                return [
                    entry.kind.isOfFeed ? entry.sequence : nil, StoredBytes(entry.id),
                    entry.kind.isOfFeed ? WholeText(entry.revision) : nil, dead.change.attempts,
                    WholeText(dead.reason), Timestamp.now,
                ]
            })
        guard !dead.isEmpty else { return }
        try session.execute(
            """
            DELETE FROM dead_change
            WHERE n <= (SELECT n FROM dead_change ORDER BY n DESC LIMIT 1 OFFSET ?)
                AND NOT EXISTS (
                    SELECT 1 FROM dead_letter
                    WHERE dead_letter.id = dead_change.id AND rule IS NULL
                        AND dead_letter.sequence IS NOT DISTINCT FROM NULLIF(dead_change.seq, ''))
            """, [Self.keptDeadChanges])
    }

    /// Of dead changes whose dead letters are gone, those among the newest so many of all are kept.
    static let keptDeadChanges = 1_000

    private func note(_ attempts: [Attempt], _ partition: Int) throws {
        try session.executeEach(
            "UPDATE work SET tries = ? WHERE partition = ? AND n = ?",
            attempts.filter { !$0.isParked }.map { [$0.tries(of: owner).text, partition, Int($0.n)] })
        try session.executeEach(
            "UPDATE parked SET tries = ? WHERE partition = ? AND id = ?",
            attempts.filter(\.isParked).map { [$0.tries(of: owner).text, partition, StoredBytes($0.id)] })
    }

    private static let columns = "n, first_n, seq, id, rev, kind, parks"

    private static func values(_ change: LoggedChange) -> [(any StateArgument)?] {
        [
            Int(change.n), Int(change.firstN), change.entry.sequence, StoredBytes(change.id),
            StoredBytes(change.entry.revisionBytes), change.entry.kind.rawValue, change.parks,
        ]
    }

    // MARK: - Facts

    func backlog() throws -> Backlog {
        let parts = try session.rows(
            """
            SELECT p.partition, CASE WHEN l.until > ?1 THEN l.owner END, p.position,
                (SELECT COUNT(*) FROM work w WHERE w.partition = p.partition),
                (SELECT ?1 - w.at FROM work w WHERE w.partition = p.partition ORDER BY w.n LIMIT 1),
                (SELECT COUNT(*) FROM parked k WHERE k.partition = p.partition)
            FROM partition_position p JOIN work_lease l ON l.name = CAST(p.partition AS TEXT) ORDER BY p.partition
            """, [now])
        return Backlog(
            parts: parts.map { row in
                let age: Int? = row[4]
                return Backlog.Part(
                    partition: row[0], owner: row[1], position: row.n(2), entries: row[3],
                    oldestAge: age.map { .milliseconds($0) }, parked: row[5])
            },
            leader: try session.value(
                String.self, "SELECT owner FROM work_lease WHERE name = 'feed' AND until > ?", [now]),
            dead: try session.value(Int.self, "SELECT COUNT(*) FROM dead_change") ?? 0,
            takeovers: try session.value(Int.self, "SELECT takeovers FROM fleet") ?? 0, fencedCommits: 0)
    }
}

/// Bytes as they are stored.
private struct StoredBytes: StateArgument, StateColumn {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(_ key: DocumentKey) { bytes = key.bytes }

    init?(_ value: StateValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self.bytes = bytes
    }

    var stateValue: StateValue { .bytes(bytes) }
}

extension StateRow {
    fileprivate func n(_ index: Int) -> Int64 { Int64(self[index] as Int) }
}

extension LoggedChange {
    /// - Parameter row: Place, sequence, id, revisions, kind, tries.
    fileprivate init(_ row: StateRow) throws {
        let (id, revisions): (StoredBytes, StoredBytes) = (row[2], row[3])
        guard let kind = FeedEntry.Kind(rawValue: row[4]) else {
            throw WorkLogError.refused("the log has a change of an unknown kind: \(row[4] as Int)")
        }
        let entry = FeedEntry(
            kind: kind, sequence: row[1], id: DocumentKey(bytes: id.bytes), revisionBytes: revisions.bytes)
        self.init(n: row.n(0), entry: entry, tries: Tries(text: row[5]))
    }
}
