internal import Fleet
package import PostgreSQL

/// The partitions of a work log. The first member that shares its work decides how many there are.
package enum WorkLogPartitions {
    /// They are `smallint`, and a lease for each is renewed in one statement.
    package static let most = 4096

    /// Makes the partitions of a log that has none. Several members may do so at the same time. The tables must be there.
    ///
    /// - Throws: `PostgresError`; ``WorkLogError`` `.refused` for another number of partitions.
    package static func prepare(
        _ partitions: Int, leaseTime: Duration, _ connection: PostgresConnection
    ) throws {
        guard (1...most).contains(partitions) else {
            throw WorkLogError.refused("a fleet has 1 to \(most) partitions, not \(partitions)")
        }
        if try count(connection) == nil {
            let identity = try WorkLogIdentity(connection)
            try connection.transaction { try make(partitions, leaseTime, identity, $0) }
        }
        let there = try count(connection) ?? 0
        guard there == partitions else {
            throw WorkLogError.refused("\(other(partitions, there)): \(remedy(there))")
        }
        try connection.run(
            "UPDATE fleet SET lease_ms = $1 WHERE lease_ms < $1::bigint", [.int(leaseTime.wholeMilliseconds)])
    }

    private static func count(_ connection: PostgresConnection) throws(PostgresError) -> Int? {
        try connection.run("SELECT partitions FROM fleet").rows.first?.first?.int
    }

    private static func make(
        _ partitions: Int, _ leaseTime: Duration, _ identity: WorkLogIdentity, _ connection: PostgresConnection
    ) throws(PostgresError) {
        // Waits for another member that does the same.
        let made = try connection.run(
            """
            INSERT INTO fleet (partitions, lease_ms, incarnation, system_id, timeline, table_id)
            SELECT $1::int, $2::bigint, \(identity.newIncarnation), \(identity.systemID), \(identity.timeline),
                'fleet'::regclass::oid::bigint
            ON CONFLICT DO NOTHING
            """, [.int(partitions), .int(leaseTime.wholeMilliseconds)])
        guard made.affected == 1 else { return }
        try connection.run(
            """
            INSERT INTO work_lease (name)
            SELECT 'feed' UNION ALL SELECT p::text FROM generate_series(0, $1::int - 1) p
            """, [.int(partitions)])
        try connection.run(
            "INSERT INTO partition_position (partition) SELECT p FROM generate_series(0, $1::int - 1) p",
            [.int(partitions)])
    }

    /// Why a fleet can't have another number of partitions than it has.
    package static func other(_ partitions: Int, _ there: Int) -> String {
        "the fleet has \(there) partitions, which can't be changed to \(partitions)"
    }

    /// What to do then.
    package static func remedy(_ there: Int) -> String { "use --partitions \(there), or another --fleet" }
}
