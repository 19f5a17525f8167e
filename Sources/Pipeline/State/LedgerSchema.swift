internal import GRDB

/// The state file's tables, one migration per released form.
enum LedgerSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

                    -- The newest row is the checkpoint, the others its history. Sequences are JSON text.
                    CREATE TABLE checkpoint (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        sequence TEXT NOT NULL,
                        rule_set TEXT NOT NULL,
                        saved_at TEXT NOT NULL
                    );

                    -- In the order of writing, by rowid, so that the oldest can be forgotten.
                    CREATE TABLE own_revision (
                        id TEXT NOT NULL,
                        revision TEXT NOT NULL,
                        rule_set TEXT NOT NULL,
                        UNIQUE (id, revision)
                    );

                    CREATE TABLE dead_letter (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        sequence TEXT,
                        id TEXT NOT NULL,
                        revision TEXT,
                        rule TEXT,
                        reason TEXT NOT NULL,
                        attempts INTEGER NOT NULL,
                        set_aside_at TEXT NOT NULL
                    );
                    """)
        }
        return migrator
    }
}
