internal import Fleet
package import PostgreSQL

/// The tables of a work log in PostgreSQL 12 or later, in the schema of a fleet. The names have no schema prefix.
///
/// Ids and revisions are bytes: `text` cannot hold U+0000, and bytes are compared as a gateway does. Nothing of a
/// document but these two is stored.
package enum WorkLogTables {
    /// Raised with every change of the tables.
    package static let version = 2

    /// Makes the tables of version 1 those of version 2. Programs that need version 1 can go on until they end.
    private static let upgrade = """
        ALTER TABLE work ADD COLUMN tries text NOT NULL DEFAULT '';
        ALTER TABLE parked ADD COLUMN tries text NOT NULL DEFAULT '', ALTER COLUMN attempts SET DEFAULT 0;
        """
    /// The partitions are `smallint`, and a lease for each is renewed in one statement.
    package static let mostPartitions = 4096

    /// Creates all of them; several statements.
    package static let tables = """
        -- One row.
        CREATE TABLE fleet (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            version integer NOT NULL,
            partitions integer NOT NULL CHECK (partitions > 0),
            -- The longest time of a lease that a member ever had.
            lease_ms bigint NOT NULL,
            -- The state of the server: see WorkLogIdentity.
            incarnation text NOT NULL,
            system_id text,
            timeline text NOT NULL,
            table_id bigint NOT NULL,
            -- No lease is granted before.
            quiet_until timestamptz NOT NULL DEFAULT '-infinity',
            -- The sequence up to which the feed was read, as JSON text. NULL: nothing was appended.
            seq text,
            -- The last place in the log.
            n bigint NOT NULL DEFAULT 0,
            takeovers bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 10);

        -- Who reads the feed, and who works on which partition. Each grant raises the token.
        CREATE TABLE work_lease (
            -- 'feed', or the number of a partition.
            name text PRIMARY KEY,
            owner text,
            token bigint NOT NULL DEFAULT 0,
            until timestamptz NOT NULL DEFAULT '-infinity'
        ) WITH (fillfactor = 50);

        CREATE TABLE work_member (
            owner text PRIMARY KEY,
            holder text NOT NULL,
            works boolean NOT NULL,
            -- Another number for each time that the member was gone.
            membership bigint GENERATED ALWAYS AS IDENTITY,
            since timestamptz NOT NULL,
            until timestamptz NOT NULL
        ) WITH (fillfactor = 50);

        CREATE TABLE partition_position (
            partition smallint PRIMARY KEY,
            position bigint NOT NULL DEFAULT 0,
            version bigint NOT NULL DEFAULT 0,
            takeovers integer NOT NULL DEFAULT 0
        ) WITH (fillfactor = 30);

        CREATE TABLE work (
            partition smallint NOT NULL,
            n bigint NOT NULL,
            seq text NOT NULL,
            id bytea NOT NULL,
            -- All leaves that are known, the winner first, with a zero byte between them.
            rev bytea NOT NULL,
            -- See FeedEntry.Kind.
            kind smallint NOT NULL,
            -- Of programs that need version 1.
            attempts integer NOT NULL DEFAULT 0,
            -- See Tries.
            tries text NOT NULL DEFAULT '',
            at timestamptz NOT NULL,
            PRIMARY KEY (partition, n)
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000);

        CREATE TABLE parked (
            partition smallint NOT NULL,
            id bytea NOT NULL,
            first_n bigint NOT NULL,
            n bigint NOT NULL,
            seq text NOT NULL,
            -- All leaves that are known, the winner first, with a zero byte between them.
            rev bytea NOT NULL,
            -- See FeedEntry.Kind.
            kind smallint NOT NULL,
            -- Of programs that need version 1.
            attempts integer NOT NULL DEFAULT 0,
            -- See Tries.
            tries text NOT NULL DEFAULT '',
            parks integer NOT NULL,
            due timestamptz NOT NULL,
            reason text NOT NULL,
            PRIMARY KEY (partition, id)
        );
        CREATE INDEX parked_due ON parked (partition, due);
        CREATE INDEX parked_first_n ON parked (first_n);

        CREATE TABLE dead_change (
            n bigint PRIMARY KEY,
            partition smallint NOT NULL,
            id bytea NOT NULL,
            seq text NOT NULL,
            -- All leaves that are known, the winner first, with a zero byte between them.
            rev bytea NOT NULL,
            -- See FeedEntry.Kind.
            kind smallint NOT NULL,
            first_n bigint NOT NULL,
            attempts integer NOT NULL,
            parks integer NOT NULL,
            reason text NOT NULL,
            at timestamptz NOT NULL
        );

        -- One row for each append: the sequence that was read when the log ended at this place.
        CREATE TABLE mark (n bigint PRIMARY KEY, seq text NOT NULL);
        """

    /// Makes the schema and the tables if they are missing. Several members may do so at the same time.
    ///
    /// - Throws: `PostgresError`; ``WorkLogError`` `.refused` for another number of partitions or another version.
    package static func prepare(
        partitions: Int, leaseTime: Duration, _ connection: PostgresConnection
    ) throws {
        guard (1...mostPartitions).contains(partitions) else {
            throw WorkLogError.refused("a fleet has 1 to \(mostPartitions) partitions, not \(partitions)")
        }
        if try !areThere(connection) {
            let identity = try WorkLogIdentity(connection)
            try connection.transaction { connection in
                let schema = try schema(connection)
                // Until the transaction ends: the others find the tables then.
                try connection.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [.text(schema)])
                guard try !areThere(connection) else { return }
                // Even with IF NOT EXISTS it needs a privilege on the database.
                if try !isThereSchema(connection) { try connection.script("CREATE SCHEMA \(schema)") }
                try connection.script(tables)
                try fill(partitions, leaseTime, identity, connection)
            }
        }
        try upgradeIfNeeded(connection)
        try check(partitions, connection)
        try connection.run(
            "UPDATE fleet SET lease_ms = $1 WHERE lease_ms < $1::bigint", [.int(leaseTime.wholeMilliseconds)])
    }

    private static func upgradeIfNeeded(_ connection: PostgresConnection) throws {
        guard try version(connection) == 1 else { return }
        try connection.transaction { connection in
            try connection.run("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [.text(try schema(connection))])
            guard try version(connection) == 1 else { return }
            try connection.script(upgrade)
            try connection.run("UPDATE fleet SET version = $1", [.int(version)])
        }
    }

    private static func version(_ connection: PostgresConnection) throws(PostgresError) -> Int? {
        try connection.run("SELECT version FROM fleet").rows.first?.first?.int
    }

    private static func fill(
        _ partitions: Int, _ leaseTime: Duration, _ identity: WorkLogIdentity, _ connection: PostgresConnection
    ) throws(PostgresError) {
        try connection.run(
            """
            INSERT INTO fleet (version, partitions, lease_ms, incarnation, system_id, timeline, table_id)
            SELECT $1::int, $2::int, $3::bigint, \(identity.newIncarnation), \(identity.systemID), \(identity.timeline),
                'fleet'::regclass::oid::bigint
            """, [.int(version), .int(partitions), .int(leaseTime.wholeMilliseconds)])
        try connection.run(
            """
            INSERT INTO work_lease (name)
            SELECT 'feed' UNION ALL SELECT p::text FROM generate_series(0, $1::int - 1) p
            """, [.int(partitions)])
        try connection.run(
            "INSERT INTO partition_position (partition) SELECT p FROM generate_series(0, $1::int - 1) p",
            [.int(partitions)])
        try WorkLogIdentity.renumberMemberships(connection)
    }

    /// As it stands in the search path, which has it alone: an identifier with its quotes.
    private static func schema(_ connection: PostgresConnection) throws(PostgresError) -> String {
        try connection.run("SELECT current_setting('search_path')").rows.first?.first?.text ?? ""
    }

    // Both read the catalog as tables. A session that has waited for an advisory lock does not know yet what others
    // committed meanwhile, and `to_regclass` or `current_schema` answer from what it knows; reading a table makes it look.

    private static func areThere(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        let found = try connection.run(
            """
            SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relname = 'partition_position' AND \(isSchema)
            """)
        return !found.rows.isEmpty
    }

    private static func isThereSchema(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        try !connection.run("SELECT FROM pg_namespace n WHERE \(isSchema)").rows.isEmpty
    }

    private static let isSchema =
        #"current_setting('search_path') IN (n.nspname, '"' || replace(n.nspname, '"', '""') || '"')"#

    private static func check(_ partitions: Int, _ connection: PostgresConnection) throws {
        let row = try connection.run("SELECT version, partitions FROM fleet").rows.first
        guard let row, let version = row[0].int, let there = row[1].int else {
            throw WorkLogError.refused("the table fleet is empty: it was made by something else, or damaged")
        }
        guard version == Self.version else {
            throw WorkLogError.refused(
                "the tables of the work log are of version \(version), and this program needs \(Self.version)")
        }
        guard there == partitions else {
            throw WorkLogError.refused("\(other(partitions, there)): \(remedy(there))")
        }
    }

    /// Why a fleet with so many partitions can't have another number of them.
    package static func other(_ partitions: Int, _ there: Int) -> String {
        "the fleet has \(there) partitions, which can't be changed to \(partitions)"
    }

    /// What to do then.
    package static func remedy(_ there: Int) -> String { "use --partitions \(there), or another --fleet" }
}
