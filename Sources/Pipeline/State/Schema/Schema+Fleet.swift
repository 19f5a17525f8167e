extension Schema {
    /// The tables of a fleet, in PostgreSQL only: its processes, and the log of those that share the work. A state in a
    /// file has one process.
    static let fleetTables = members + log

    private static let members = [
        // Who acts alone for the fleet. `owner` is of one process; each takeover raises the token.
        Table("lease", key: ["name"], [.text("name"), .text("owner"), .text("holder"), .int("token"), .time("until")]),
        // `role` is empty for a command, and for a run that ends by itself.
        Table(
            "member", key: ["owner"],
            [
                .text("owner"), .text("holder"), .text("rule_set"), .text("role", initial: "''"),
                .text("program", initial: "''"), .time("since"), .time("until"),
            ]),
        // Processes that were asked to take nothing more.
        Table("drained", key: ["owner"], [.text("owner"), .time("at")]),
        // What all processes together have met: see FleetTally.
        Table("fleet_count", key: ["name"], [.text("name"), .int("count")]),
        // Writes of the database's mark that the gateway has not answered.
        Table("mark_write", key: ["id"], [.text("id"), .time("at", initial: "clock_timestamp()")]),
    ]

    /// See `PostgresWorkLog`. Nothing of a document but its id and revisions is stored.
    private static let log = [
        // One row, once a member shares its work. `lease_ms` is the longest time of a lease that a member ever had. The
        // four columns after it say which server has the log: see WorkLogIdentity. No lease is granted before
        // `quiet_until`. `seq` is the sequence up to which the feed was read, as JSON text; null: nothing was appended.
        // `n` is the last place in the log.
        Table(
            "fleet", key: ["is_only"],
            [
                .bool("is_only", initial: "true"), .int("partitions"), .int("lease_ms"), .text("incarnation"),
                .text("system_id", null: true), .text("timeline"), .int("table_id"),
                .time("quiet_until", initial: "'-infinity'"), .text("seq", null: true), .int("n", initial: "0"),
                .int("takeovers", initial: "0"),
            ], storage: "fillfactor = 10"),
        // Who reads the feed ('feed'), and who works on which partition (its number). Each grant raises the token.
        Table(
            "work_lease", key: ["name"],
            [
                .text("name"), .text("owner", null: true), .int("token", initial: "0"),
                .time("until", initial: "'-infinity'"),
            ], storage: "fillfactor = 50"),
        // `membership` is another one each time that the member was gone, also in a dump that was restored: the time.
        Table(
            "work_member", key: ["owner"],
            [
                .text("owner"), .text("holder"), .bool("works"), .int("membership", initial: microseconds),
                .time("since"), .time("until"),
            ], storage: "fillfactor = 50"),
        Table(
            "partition_position", key: ["partition"],
            [
                .small("partition"), .int("position", initial: "0"), .int("version", initial: "0"),
                .int("takeovers", initial: "0"),
            ], storage: "fillfactor = 30"),
        // `rev`: all leaves that are known, the winner first, with a zero byte between them. `kind`: FeedEntry.Kind.
        // `tries`: Tries. In the other tables, too.
        Table(
            "work", key: ["partition", "n"],
            [
                .small("partition"), .int("n"), .text("seq"), .bytes("id"), .bytes("rev"), .small("kind"),
                .text("tries", initial: "''"), .time("at"),
            ], storage: "autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000"),
        Table(
            "parked", key: ["partition", "id"],
            [
                .small("partition"), .bytes("id"), .int("first_n"), .int("n"), .text("seq"), .bytes("rev"),
                .small("kind"), .text("tries", initial: "''"), .int("parks"), .time("due"), .text("reason"),
            ], indexes: [.on("partition", "due"), .on("first_n")]),
        Table(
            "dead_change", key: ["n"],
            [
                .int("n"), .small("partition"), .bytes("id"), .text("seq"), .bytes("rev"), .small("kind"),
                .int("first_n"), .int("attempts"), .int("parks"), .text("reason"), .time("at"),
            ]),
        // One row for each append: the sequence that was read when the log ended at this place.
        Table("mark", key: ["n"], [.int("n"), .text("seq")]),
    ]

    private static let microseconds = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"
}
