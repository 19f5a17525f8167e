extension Schema {
    /// The tables of a fleet, in PostgreSQL only: its processes, and the log of the members that share the work. A
    /// state in a file has one process.
    static let fleetTables = members + log

    private static let members = [
        // The processes. `role` is empty for a command, and for a run that ends by itself; `program` is empty until the
        // process has registered. `membership`: the process may work, alone or because it `shares` the work; a new
        // number each time. `works`: it takes partitions. `drained`: it was asked to drain.
        Table(
            "member", key: ["owner"],
            [
                .text("owner"), .text("holder"), .text("rule_set", initial: "''"), .text("role", initial: "''"),
                .text("program", initial: "''"), .int("membership", null: true), .bool("shares", initial: "false"),
                .bool("works", initial: "false"), .bool("drained", initial: "false"), .time("since"), .time("until"),
            ], storage: "fillfactor = 50"),
        // The owner of the feed ('feed') and of each partition (its number). `direct`: the owner of the feed does all
        // the work, without the log. Each grant increases the token. `turns` counts direct grants.
        Table(
            "lease", key: ["name"],
            [
                .text("name"), .text("owner", null: true), .int("token", initial: "0"),
                .time("until", initial: "'-infinity'"), .bool("direct", initial: "false"), .int("turns", initial: "0"),
            ], storage: "fillfactor = 50"),
        // The latest order about rules that each process has taken up: see `paused_rule`.
        Table("order_taken_up", key: ["owner"], since: 4, [.text("owner"), .int("number")]),
        // Writes of the database's mark that the gateway has not answered.
        Table("mark_write", key: ["id"], [.text("id"), .time("at", initial: "clock_timestamp()")]),
    ]

    /// See `PostgresWorkLog`. Nothing of a document but its id and revisions is stored.
    private static let log = [
        // One row. `partitions` is null until members share the work. `lease_ms` is the longest lease duration that a
        // member ever had. The four columns after it identify the server: see WorkLogIdentity. No lease is granted
        // before `quiet_until`. `seq` is the sequence up to which the feed was read, as JSON text; null: nothing was
        // appended. `n` is the last place in the log. The last three columns: see FleetCounters.
        Table(
            "fleet", key: ["is_only"],
            [
                .bool("is_only", initial: "true"), .int("partitions", null: true), .int("lease_ms", initial: "0"),
                .text("incarnation"), .text("system_id", null: true), .text("timeline"), .int("table_id"),
                .time("quiet_until", initial: "'-infinity'"), .text("seq", null: true), .int("n", initial: "0"),
                .int("takeovers", initial: "0"), .int("lease_losses", initial: "0"),
                .int("fenced_commits", initial: "0"), .int("unknown_commits", initial: "0"),
            ], storage: "fillfactor = 10"),
        Table(
            "partition_position", key: ["partition"],
            [
                .small("partition"), .int("position", initial: "0"), .int("version", initial: "0"),
                .int("takeovers", initial: "0"),
            ], storage: "fillfactor = 30"),
        // `rev`: all leaves that are known, the winner first, with a zero byte between them. `kind`: FeedEntry.Kind.
        // `tries`: IsolatedAttempts. In the other tables, too.
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
}
