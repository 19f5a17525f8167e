internal import Fleet
package import PostgreSQL

/// The partitions of a work log. The first member that shares its work decides how many there are.
package enum WorkLogPartitions {
    /// Partitions are `smallint`, and all their leases are renewed in one statement.
    package static let maxPartitions = 4096

    /// Creates the partitions of a log that has none. Several members may do so at the same time. The tables must
    /// exist.
    ///
    /// - Throws: `PostgresError`; ``WorkLogError`` `.refused` for another number of partitions.
    package static func prepare(
        _ partitions: Int, leaseTime: Duration, _ connection: PostgresConnection
    ) throws {
        guard (1...maxPartitions).contains(partitions) else {
            throw WorkLogError.refused("a fleet has 1 to \(maxPartitions) partitions, not \(partitions)")
        }
        if try count(connection) == nil {
            try connection.transaction { try make(partitions, $0) }
        }
        guard let there = try count(connection) else { throw incomplete }
        guard there == partitions else {
            throw WorkLogError.refused("\(other(partitions, there)): \(remedy(there))")
        }
        try noteLease(leaseTime, connection)
    }

    /// For example, while a dump is being restored.
    static let incomplete = PostgresError.unavailable(reason: "the table 'fleet' has no row")

    /// Records the longest lease: after the server changes, no member works for this long.
    static func noteLease(_ time: Duration, _ connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            "UPDATE fleet SET lease_ms = $1 WHERE lease_ms < $1::bigint", [.int(time.wholeMilliseconds)])
    }

    /// Inserts the row of a fleet and the lease of its feed, into tables that were created in the same transaction.
    package static func makeFleet(_ connection: PostgresConnection) throws(PostgresError) {
        let identity = try WorkLogIdentity(connection)
        try connection.run(
            """
            INSERT INTO fleet (incarnation, system_id, timeline, table_id)
            SELECT \(identity.newIncarnation), \(identity.systemID), \(identity.timeline), 'fleet'::regclass::oid::bigint
            """)
        try connection.run("INSERT INTO lease (name) VALUES ('feed')")
    }

    private static func count(_ connection: PostgresConnection) throws(PostgresError) -> Int? {
        try connection.run("SELECT partitions FROM fleet").rows.first?.first?.int
    }

    private static func make(_ partitions: Int, _ connection: PostgresConnection) throws(PostgresError) {
        // Waits for another member that does the same.
        let update = try connection.run(
            "UPDATE fleet SET partitions = $1::int WHERE partitions IS NULL", [.int(partitions)])
        guard update.affected == 1 else { return }
        try connection.run(
            "INSERT INTO lease (name) SELECT p::text FROM generate_series(0, $1::int - 1) p", [.int(partitions)])
        try connection.run(
            "INSERT INTO partition_position (partition) SELECT p FROM generate_series(0, $1::int - 1) p",
            [.int(partitions)])
    }

    /// Why the number of partitions of a fleet can't change.
    package static func other(_ partitions: Int, _ there: Int) -> String {
        "the fleet has \(there) partitions, which can't be changed to \(partitions)"
    }

    /// The remedy for ``other(_:_:)``.
    package static func remedy(_ there: Int) -> String { "use --partitions \(there), or another --fleet" }
}
