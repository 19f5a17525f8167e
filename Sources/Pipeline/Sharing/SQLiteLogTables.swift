internal import FoundationEssentials

/// The tables of a log in a state's file: the names are those of the log in PostgreSQL.
///
/// Made with the first start that has `--role`, and no migration of ``LedgerSchema``: a state that never shared its work
/// has none of them, and older programs can go on with it. Times are in milliseconds since 1970.
enum SQLiteLogTables {
    /// Raised with every change of the tables.
    static let version = 2

    /// Makes the tables of version 1 those of version 2.
    private static let upgrade = ["work", "parked"].flatMap { table in
        [
            "ALTER TABLE \(table) ADD COLUMN tries TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE \(table) DROP COLUMN attempts",
        ]
    }

    private static let tables = [
        // `changes` counts transactions. See `WorkLogTables` for the others.
        """
        CREATE TABLE fleet (
            is_only INTEGER PRIMARY KEY CHECK (is_only = 1),
            version INTEGER NOT NULL,
            partitions INTEGER NOT NULL,
            incarnation TEXT NOT NULL,
            changes INTEGER NOT NULL DEFAULT 0,
            quiet_until INTEGER NOT NULL DEFAULT 0,
            seq TEXT,
            n INTEGER NOT NULL DEFAULT 0,
            takeovers INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE work_lease (
            name TEXT PRIMARY KEY,
            owner TEXT,
            token INTEGER NOT NULL DEFAULT 0,
            until INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE work_member (owner TEXT PRIMARY KEY, works INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID
        """,
        """
        CREATE TABLE partition_position (
            partition INTEGER PRIMARY KEY,
            position INTEGER NOT NULL DEFAULT 0,
            version INTEGER NOT NULL DEFAULT 0,
            takeovers INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE work (
            partition INTEGER NOT NULL,
            n INTEGER NOT NULL,
            seq TEXT NOT NULL,
            id BLOB NOT NULL,
            rev BLOB NOT NULL,
            kind INTEGER NOT NULL,
            tries TEXT NOT NULL DEFAULT '',
            at INTEGER NOT NULL,
            PRIMARY KEY (partition, n)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE parked (
            partition INTEGER NOT NULL,
            id BLOB NOT NULL,
            n INTEGER NOT NULL,
            first_n INTEGER NOT NULL,
            seq TEXT NOT NULL,
            rev BLOB NOT NULL,
            kind INTEGER NOT NULL,
            tries TEXT NOT NULL DEFAULT '',
            parks INTEGER NOT NULL,
            due INTEGER NOT NULL,
            reason BLOB NOT NULL,
            PRIMARY KEY (partition, id)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX parked_due ON parked (partition, due)",
        "CREATE INDEX parked_first_n ON parked (first_n)",
        """
        CREATE TABLE dead_change (
            partition INTEGER NOT NULL,
            id BLOB NOT NULL,
            n INTEGER NOT NULL,
            first_n INTEGER NOT NULL,
            seq TEXT NOT NULL,
            rev BLOB NOT NULL,
            kind INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            parks INTEGER NOT NULL,
            at INTEGER NOT NULL,
            reason BLOB NOT NULL,
            PRIMARY KEY (n)
        ) WITHOUT ROWID
        """,
        "CREATE TABLE mark (n INTEGER PRIMARY KEY, seq TEXT NOT NULL)",
    ]

    /// Removes the tables, which must be there.
    static func remove(_ session: any StateSession) throws {
        for table in [
            "work_lease", "fleet", "work_member", "partition_position", "work", "parked", "dead_change", "mark",
        ] {
            try session.execute("DROP TABLE \(table)")
        }
    }

    /// Makes the tables if they are missing.
    ///
    /// - Throws: ``StateError``: `.unreadable` for another number of partitions, or tables of another version.
    static func prepare(partitions: Int, path: String, _ session: any StateSession) throws {
        if try !session.hasTable("work_lease") {
            for table in tables { try session.execute(table) }
            try session.execute(
                "INSERT INTO fleet (is_only, version, partitions, incarnation) VALUES (1, ?, ?, ?)",
                [version, partitions, UUID().uuidString])
            try session.executeEach(
                "INSERT INTO work_lease (name) VALUES (?)", [["feed"]] + (0..<partitions).map { ["\($0)"] })
            try session.executeEach(
                "INSERT INTO partition_position (partition) VALUES (?)", (0..<partitions).map { [$0] })
        }
        if try session.value(Int.self, "SELECT version FROM fleet") == 1 {
            for statement in upgrade { try session.execute(statement) }
            try session.execute("UPDATE fleet SET version = ?", [version])
        }
        let row = try session.rows("SELECT version, partitions FROM fleet").first
        let (version, there): (Int, Int) = row.map { ($0[0], $0[1]) } ?? (0, 0)
        guard version == Self.version else {
            throw StateError.unreadable(
                path: path,
                reason: "the tables of its log are of version \(version), and this program needs \(Self.version)")
        }
        guard there == partitions else {
            throw StateError.unreadable(
                path: path,
                reason: "its log has \(there) partitions, which can't be changed to \(partitions): use --partitions "
                    + "\(there), or start once without --role")
        }
    }
}
