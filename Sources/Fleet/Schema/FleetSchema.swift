/// The tables of a fleet in PostgreSQL 12 or later. One schema for each fleet; the names have no schema prefix.
///
/// Document ids are `bytea`: `text` cannot hold U+0000, and bytes are compared as a gateway does. Nothing of a document
/// but its id and revision is stored.
package enum FleetSchema {
    /// The version of the tables, in `fleet.schema_version`. Another one is refused.
    package static let version = 1

    /// Creates what is missing. Each is a statement of its own, all in one transaction.
    package static let tables = [
        """
        CREATE TABLE IF NOT EXISTS fleet (
          id text PRIMARY KEY,                        -- the fleet's name; one line
          schema_version integer NOT NULL,
          partitions integer NOT NULL CHECK (partitions BETWEEN 1 AND 32767),
          lease_time interval NOT NULL,
          gateway_db_id text,                         -- NULL: not known yet
          generation integer NOT NULL DEFAULT 1,
          incarnation text NOT NULL,
          quiet_until timestamptz NOT NULL,           -- no lease is granted before
          seq text,                                   -- the checkpoint, as JSON text; NULL: nothing was appended
          n bigint NOT NULL DEFAULT 0,                -- the last place in the log
          takeovers bigint NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE IF NOT EXISTS lease (
          name text PRIMARY KEY,                      -- 'feed', or the number of a partition
          owner text,                                 -- NULL: nobody
          token bigint NOT NULL DEFAULT 0,
          until timestamptz NOT NULL DEFAULT '-infinity') WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE IF NOT EXISTS partition_position (
          partition smallint PRIMARY KEY,
          position bigint NOT NULL DEFAULT 0,
          version bigint NOT NULL DEFAULT 0,
          takeovers integer NOT NULL DEFAULT 0) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE IF NOT EXISTS work (
          partition smallint NOT NULL,
          n bigint NOT NULL,
          seq text NOT NULL,
          id bytea NOT NULL,
          rev text NOT NULL,
          deleted boolean NOT NULL,
          attempts smallint NOT NULL DEFAULT 0,
          at timestamptz NOT NULL DEFAULT clock_timestamp(),
          PRIMARY KEY (partition, n))
        """,
        """
        CREATE TABLE IF NOT EXISTS parked (
          partition smallint NOT NULL,
          id bytea NOT NULL,
          first_n bigint NOT NULL,
          n bigint NOT NULL,
          seq text NOT NULL,
          rev text NOT NULL,
          deleted boolean NOT NULL,
          attempts smallint NOT NULL,
          parks integer NOT NULL,
          due timestamptz NOT NULL,
          reason text NOT NULL,
          PRIMARY KEY (partition, id))
        """,
        "CREATE INDEX IF NOT EXISTS parked_due ON parked (partition, due)",
        "CREATE INDEX IF NOT EXISTS parked_first_n ON parked (first_n)",
        """
        CREATE TABLE IF NOT EXISTS dead (
          n bigint PRIMARY KEY,
          partition smallint NOT NULL,
          id bytea NOT NULL,
          seq text NOT NULL,
          rev text NOT NULL,
          deleted boolean NOT NULL,
          attempts smallint NOT NULL,
          reason text NOT NULL,
          at timestamptz NOT NULL DEFAULT clock_timestamp())
        """,
        "CREATE TABLE IF NOT EXISTS mark (n bigint PRIMARY KEY, seq text NOT NULL)",
        """
        CREATE TABLE IF NOT EXISTS member (
          owner text PRIMARY KEY,
          works boolean NOT NULL,
          until timestamptz NOT NULL) WITH (fillfactor = 50)
        """,
    ]

    /// Fills the tables of a new fleet. Parameters: name, partitions, time of a lease as `interval`, incarnation, the
    /// gateway's database or NULL, and how long nothing is granted: the time of a lease, or zero if no member of an
    /// earlier database with this name can be running. Then read it: other values than the own ones are `.refused`.
    package static let create = [
        """
        INSERT INTO fleet (id, schema_version, partitions, lease_time, incarnation, gateway_db_id, quiet_until)
        VALUES ($1, 1, $2, $3, $4, $5, clock_timestamp() + $6::interval) ON CONFLICT (id) DO NOTHING
        """,
        """
        INSERT INTO lease (name) SELECT 'feed' UNION ALL
        SELECT p::text FROM fleet, generate_series(0, partitions - 1) p ON CONFLICT (name) DO NOTHING
        """,
        """
        INSERT INTO partition_position (partition)
        SELECT p FROM fleet, generate_series(0, partitions - 1) p ON CONFLICT (partition) DO NOTHING
        """,
    ]
    /// No parameters. `lease_ms` in milliseconds.
    package static let read = """
        SELECT id, schema_version, partitions, (extract(epoch FROM lease_time) * 1000)::bigint AS lease_ms,
          gateway_db_id, generation, incarnation FROM fleet
        """
}
