internal import PostgreSQL

/// The status of a fleet in the engine.
package struct FleetSnapshot: Sendable {
    /// A process of the fleet.
    package struct Member: Sendable {
        /// A short id, different for each process.
        package let id: String
        /// Identifies this process.
        let owner: String
        /// How it describes itself: process, host, start time.
        package let holder: String
        /// `run`, or the role of a member that shares the work; empty for a command, and for a run that ends by itself.
        package let role: String
        /// Whether it is the active member, which does all the work.
        package let runs: Bool
        /// Whether it shares the work with others.
        package let shares: Bool
        /// Whether it was asked to drain.
        package let isDrained: Bool
        /// The hash of its rules; empty for a command.
        package let ruleSetHash: String
        /// The version of its program; empty if unknown.
        package let program: String
        /// Seconds since 1970.
        package let since: Int
        /// How many partitions it has.
        package fileprivate(set) var partitions = 0
        /// Whether it reads the feed for the members that share the work.
        package fileprivate(set) var readsFeed = false
    }

    /// How the work is shared.
    package struct Shared: Sendable {
        /// A part of the documents.
        package struct Part: Sendable {
            package let number: Int
            /// The id of the member that works on it. Nil: none.
            package let member: String?
            /// Changes in the log.
            package let waiting: Int
            /// For how many seconds the oldest of them has waited; nil if there is none.
            package let oldest: Double?
            package let parked: Int
        }

        /// By their numbers.
        package let parts: [Part]
        /// Changes that crashed the processes that attempted them, and are dead letters now.
        package let dead: Int
        /// How many leases were taken over from members that had not released them.
        package let takeovers: Int

        /// Changes in the log.
        package var waiting: Int { parts.reduce(0) { $0 + $1.waiting } }
        /// For how many seconds the oldest of them has waited; nil if there is none.
        package var oldest: Double? { parts.compactMap(\.oldest).max() }
        /// Changes that are parked outside the log.
        package var parked: Int { parts.reduce(0) { $0 + $1.parked } }
    }

    /// The members whose lease has not expired: first the active member, then those that share the work.
    package let members: [Member]
    /// How many times the lease of the active member was granted.
    package let takeovers: Int
    /// How many leases ended without being released.
    package let leaseLosses: Int
    /// How many commits were refused because another member had the lease.
    package let fencedCommits: Int
    /// How many times a member did not know whether a commit was stored.
    package let unknownCommits: Int
    /// Nil unless members have ever shared the work.
    package let shared: Shared?
    /// `PostgreSQL 15.8`.
    package let server: String
    /// Settings of the server that can lose acknowledged writes; empty if there are none.
    package let risks: [String]

    /// The members that share the work.
    package var sharing: [Member] { members.filter(\.shares) }

    /// The current entry of the same process. Nil: it has ended, or its lease has expired.
    package func now(_ member: Member) -> Member? { members.first { $0.owner == member.owner } }

    /// The rule sets of all members except commands, with the number of members, the most frequent first.
    package var ruleSets: [(hash: String, members: Int)] {
        let hashes = members.map(\.ruleSetHash).filter { !$0.isEmpty }
        return Dictionary(grouping: hashes) { $0 }.map { ($0.key, $0.value.count) }
            .sorted { ($0.1, $1.0) > ($1.1, $0.0) }
    }
}

extension FleetSnapshot {
    /// Asks the engine.
    init(_ connection: PostgresConnection) throws {
        var members = try Self.members(connection)
        var shared: Shared?
        let facts =
            try connection.run(
                """
                SELECT partitions IS NOT NULL, takeovers,
                    (SELECT count(*) FROM dead_change WHERE EXISTS (\(DeadChanges.deadLetter))),
                    (SELECT turns FROM lease WHERE name = 'feed'), lease_losses, fenced_commits, unknown_commits
                FROM fleet
                """
            ).rows.first?.map { $0.int ?? 0 } ?? Array(repeating: 0, count: 7)
        if facts[0] == 1 {
            let owners = Dictionary(members.map { ($0.owner, $0.id) }) { first, _ in first }
            let parts = try Self.parts(connection)
            let reader = try connection.run(
                "SELECT owner FROM lease WHERE name = 'feed' AND NOT direct AND until > clock_timestamp()"
            ).rows.first?.first?.text
            for index in members.indices {
                members[index].partitions = parts.count { $0.owner == members[index].owner }
                members[index].readsFeed = reader == members[index].owner
            }
            shared = Shared(
                parts: parts.map { part in
                    Shared.Part(
                        number: part.number, member: part.owner.flatMap { owners[$0] }, waiting: part.waiting,
                        oldest: part.oldest, parked: part.parked)
                }, dead: facts[2], takeovers: facts[1])
        }
        self.members = members
        self.shared = shared
        (takeovers, leaseLosses, fencedCommits, unknownCommits) = (facts[3], facts[4], facts[5], facts[6])
        (server, risks) = try Self.server(connection)
    }

    private static func members(_ connection: PostgresConnection) throws(PostgresError) -> [Member] {
        let rows = try connection.run(
            """
            SELECT m.owner, holder, role, l.owner IS NOT NULL, shares, drained, rule_set, program,
                CAST(EXTRACT(EPOCH FROM since) AS bigint)
            FROM member m LEFT JOIN lease l ON l.owner = m.owner AND l.direct AND l.until > clock_timestamp()
            WHERE m.until > clock_timestamp() ORDER BY 4 DESC, 5 DESC, 9, 1
            """
        ).rows
        return rows.map { row in
            let owner = row[0].text ?? ""
            return Member(
                id: Engine.memberID(owner), owner: owner, holder: row[1].text ?? "", role: row[2].text ?? "",
                runs: row[3] == .int(1), shares: row[4] == .int(1), isDrained: row[5] == .int(1),
                ruleSetHash: row[6].text ?? "", program: row[7].text ?? "", since: row[8].int ?? 0)
        }
    }

    private static func parts(
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [(number: Int, owner: String?, waiting: Int, oldest: Double?, parked: Int)] {
        try connection.run(
            """
            SELECT p.partition, CASE WHEN l.until > clock_timestamp() THEN l.owner END, coalesce(w.count, 0), w.age,
                coalesce(k.count, 0)
            FROM partition_position p JOIN lease l ON l.name = p.partition::text
            LEFT JOIN (
                SELECT partition, count(*), CAST(EXTRACT(EPOCH FROM clock_timestamp() - min(at)) AS float8) AS age
                FROM work GROUP BY partition) w ON w.partition = p.partition
            LEFT JOIN (SELECT partition, count(*) FROM parked GROUP BY partition) k ON k.partition = p.partition
            ORDER BY p.partition
            """
        ).rows.map { row in
            (row[0].int ?? 0, row[1].text, row[2].int ?? 0, row[3].double, row[4].int ?? 0)
        }
    }

    private static func server(_ connection: PostgresConnection) throws(PostgresError) -> (String, risks: [String]) {
        let server = try connection.run(
            """
            SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('fsync'),
                current_setting('synchronous_commit')
            """)
        let facts = (server.rows.first ?? []).map { $0.text ?? "" }
        var risks: [String] = []
        if facts.count > 1, facts[1] == "off" {
            risks.append("fsync is off: PostgreSQL can lose data when its machine fails")
        }
        if facts.count > 2, facts[2] == "off" {
            risks.append("synchronous_commit is off: PostgreSQL can lose the last writes when it is killed")
        }
        return (facts.first ?? "", risks)
    }
}

extension Engine {
    /// The id of this process, as other members show it.
    package var memberID: String { Self.memberID(owner) }

    package static func memberID(_ owner: String) -> String { String(owner.prefix(8)).lowercased() }

    /// Asks the engine. Blocks.
    ///
    /// - Throws: ``StateError``: `.missing` if there is no such fleet, `.engineUnavailable`.
    package func snapshot() throws(StateError) -> FleetSnapshot { try ask { try FleetSnapshot($0) } }

    /// Calls `body` with a separate connection. Blocks.
    func ask<Value>(_ body: (PostgresConnection) throws -> Value) throws(StateError) -> Value {
        let queue = makeQueue()
        defer { queue.close() }
        do {
            return try queue.performNow { connection in
                guard try EngineSchema.exists(schema, connection) else {
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
