internal import FoundationEssentials
internal import GRDB

/// The tables of the state file, with one migration per released version.
enum LedgerSchema {
    /// Migrates a file to the current version.
    ///
    /// - Throws: ``SupersededSchema`` if a newer changebot wrote it.
    static func migrate(_ database: DatabaseQueue) throws {
        guard try !isCurrent(database) else { return }
        // Each migration is a transaction: in WAL mode, these need not be on disk one by one to be consistent.
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        try migrator.migrate(database)
        try database.writeWithoutTransaction { database in
            try ProgramVersion.note(in: database)
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
    }

    static func isCurrent(_ database: DatabaseQueue) throws -> Bool {
        try database.read { database in
            if try migrator.hasBeenSuperseded(database) {
                throw SupersededSchema(
                    program: try ProgramVersion.later(in: database), version: try version(of: database))
            }
            return try migrator.hasCompletedMigrations(database)
        }
    }

    /// The version that this program writes.
    static var newestVersion: Int { migrator.migrations.compactMap { Int($0) }.max() ?? 0 }

    /// The version of a file, also one that this program does not know; 0 for an empty one.
    static func version(of database: Database) throws -> Int {
        try migrator.appliedIdentifiers(database).compactMap { Int($0) }.max() ?? 0
    }

    private static var migrator: DatabaseMigrator {
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
        migrator.registerMigration("2") { database in
            try database.execute(sql: reasonsAndWholeText)
        }
        migrator.registerMigration("3") { database in
            try database.execute(sql: effectsAndChains)
        }
        migrator.registerMigration("4") { database in
            try database.execute(sql: severalAddresses)
        }
        migrator.registerMigration("5") { database in
            try database.execute(sql: rulesByName)
        }
        migrator.registerMigration("6", migrate: joinOwnWrites)
        migrator.registerMigration("7") { database in
            try database.execute(sql: timersAndSchedules)
        }
        migrator.registerMigration("8") { database in
            try database.execute(sql: counts)
        }
        migrator.registerMigration("9") { database in
            try database.execute(sql: downloads)
        }
        return migrator
    }

    /// Version 2: checkpoints with reasons, own revisions with times, and strings that may contain U+0000 as blobs.
    private static let reasonsAndWholeText = """
        -- A row without a sequence says that there is no checkpoint any more. `run` tells the runs apart.
        CREATE TABLE new_checkpoint (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            sequence TEXT,
            rule_set TEXT NOT NULL,
            saved_at TEXT NOT NULL,
            run TEXT NOT NULL,
            reason TEXT
        );
        INSERT INTO new_checkpoint
            SELECT number, sequence, rule_set, saved_at, '', NULL FROM checkpoint ORDER BY number;
        DROP TABLE checkpoint;
        ALTER TABLE new_checkpoint RENAME TO checkpoint;

        -- In the order of writing, by rowid, so that the oldest can be forgotten. Times in seconds since 1970.
        CREATE TABLE new_own_revision (
            id BLOB NOT NULL,
            revision BLOB NOT NULL,
            rule_set TEXT NOT NULL,
            written_at INTEGER NOT NULL,
            UNIQUE (id, revision)
        );
        INSERT INTO new_own_revision
            SELECT CAST(id AS BLOB), CAST(revision AS BLOB), rule_set, 0 FROM own_revision ORDER BY rowid;
        DROP TABLE own_revision;
        ALTER TABLE new_own_revision RENAME TO own_revision;

        CREATE TABLE new_dead_letter (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            sequence TEXT,
            id BLOB NOT NULL,
            revision BLOB,
            rule BLOB,
            reason BLOB NOT NULL,
            attempts INTEGER NOT NULL,
            set_aside_at TEXT NOT NULL,
            rule_set TEXT NOT NULL
        );
        INSERT INTO new_dead_letter
            SELECT number, sequence, CAST(id AS BLOB), CAST(revision AS BLOB), CAST(rule AS BLOB),
                CAST(reason AS BLOB), attempts, set_aside_at, '' FROM dead_letter ORDER BY number;
        DROP TABLE dead_letter;
        ALTER TABLE new_dead_letter RENAME TO dead_letter;
        CREATE INDEX dead_letter_id ON dead_letter (id);
        """

    /// Version 3, against loops: contents that led to writes, and the rules that led to a `put`.
    private static let effectsAndChains = """
        -- In the order of writing, by rowid. `content` tells one content of a document from another.
        CREATE TABLE effect (
            id BLOB NOT NULL,
            content BLOB NOT NULL,
            written_at INTEGER NOT NULL
        );
        CREATE INDEX effect_content ON effect (id, content);

        -- A revision that a `put` wrote is decided like any other. `chain` is a JSON array of rule names.
        CREATE TABLE caused_revision (
            id BLOB NOT NULL,
            revision BLOB NOT NULL,
            chain BLOB NOT NULL,
            UNIQUE (id, revision)
        );
        -- Such revisions were kept as own ones before, with times below zero.
        DELETE FROM own_revision WHERE written_at < 0;

        -- Revisions over whose decision the process died.
        CREATE TABLE interrupted_decision (
            id BLOB NOT NULL,
            revision BLOB NOT NULL,
            deaths INTEGER NOT NULL,
            PRIMARY KEY (id, revision)
        ) WITHOUT ROWID;
        """

    /// Version 4: a state belongs to a database, which may be reached at several addresses. Before, it was bound to one
    /// address.
    private static let severalAddresses = """
        -- Where the database was reached. `used` grows with every run of any state of this name: the highest is where
        -- it was reached last.
        CREATE TABLE address (url TEXT PRIMARY KEY, used INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO address SELECT value, 0 FROM identity WHERE name = 'gateway';
        DELETE FROM identity WHERE name = 'gateway';
        """
}

extension LedgerSchema {
    /// Version 5: what each rule did, so that a run can tell which of them changed.
    fileprivate static let rulesByName = """
        -- The rules for whose changes documents from before need nothing any more.
        CREATE TABLE rule (name BLOB PRIMARY KEY, fingerprint TEXT NOT NULL) WITHOUT ROWID;
        """

    /// Version 7: rules that wait for a time, and rules that run over all documents at certain times.
    fileprivate static let timersAndSchedules = """
        -- Times in seconds since 1970. `fired`: the rule has fired for this time of the document.
        CREATE TABLE timer (
            id BLOB NOT NULL,
            rule BLOB NOT NULL,
            due INTEGER NOT NULL,
            fired INTEGER NOT NULL,
            PRIMARY KEY (id, rule)
        ) WITHOUT ROWID;
        CREATE INDEX timer_due ON timer (due) WHERE fired = 0;

        -- `rules` is a JSON array of names. `begun` is of the pass under way, `done` of the last one that has ended.
        CREATE TABLE schedule (
            line TEXT NOT NULL,
            zone TEXT NOT NULL,
            rules BLOB NOT NULL,
            begun INTEGER,
            done INTEGER NOT NULL,
            PRIMARY KEY (line, zone, rules)
        ) WITHOUT ROWID;
        """

    /// Version 8: what documents add to the totals of rules with `aggregate`.
    fileprivate static let counts = """
        -- `name` is a key as in own_write. Complete: all documents are counted.
        CREATE TABLE aggregate_rule (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            fingerprint TEXT NOT NULL,
            is_complete INTEGER NOT NULL
        );

        -- What a document added last. `id` is a key as in own_write, `rule` a number, `amounts` decimal numbers with
        -- commas between them.
        CREATE TABLE contribution (
            id TEXT NOT NULL,
            rule INTEGER NOT NULL,
            target TEXT NOT NULL,
            amounts TEXT NOT NULL,
            PRIMARY KEY (id, rule)
        ) WITHOUT ROWID;

        -- The sums of these, and the members that the target gets besides when it is made.
        CREATE TABLE total (
            target TEXT NOT NULL,
            rule INTEGER NOT NULL,
            amounts TEXT NOT NULL,
            contributors INTEGER NOT NULL,
            document TEXT NOT NULL,
            PRIMARY KEY (target, rule)
        ) WITHOUT ROWID;

        -- Targets that do not show their totals yet. `chain` as in caused_revision.
        CREATE TABLE total_to_write (
            target TEXT PRIMARY KEY,
            version INTEGER NOT NULL,
            chain BLOB NOT NULL,
            chain_length INTEGER NOT NULL,
            has_failed INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;

        -- Documents that must be counted again, as they are stored.
        CREATE TABLE recount (number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL);
        """

    /// Version 6: own revisions and effects in one row, so that a write costs a fraction of the time.
    fileprivate static func joinOwnWrites(_ database: Database) throws {
        try database.execute(
            sql: """
                -- In the order of writing, by rowid, so that the oldest can be forgotten. `content` and `rule_set` are
                -- digests.
                CREATE TABLE own_write (
                    id TEXT NOT NULL,
                    revision TEXT,
                    content INTEGER,
                    rule_set INTEGER NOT NULL,
                    written_at INTEGER NOT NULL
                );
                CREATE INDEX own_write_id ON own_write (id);
                """)
        // Effects count for minutes only: not worth converting.
        let revisions = try Row.fetchCursor(
            database, sql: "SELECT id, revision, rule_set, written_at FROM own_revision ORDER BY rowid")
        let insert = try database.makeStatement(
            sql: "INSERT INTO own_write (id, revision, rule_set, written_at) VALUES (?, ?, ?, ?)")
        while let row = try revisions.next() {
            let (id, revision) = (row["id"] as Data, row["revision"] as Data)
            try insert.execute(
                arguments: [
                    OwnWrite.key(String(decoding: id, as: UTF8.self)),
                    OwnWrite.key(String(decoding: revision, as: UTF8.self)),
                    OwnWrite.number(ofRuleSet: row["rule_set"]), row["written_at"] as Int,
                ])
        }
        try database.execute(sql: "DROP TABLE own_revision; DROP TABLE effect;")
    }
}

extension LedgerSchema {
    /// Version 9: what servers said of downloaded attachments.
    fileprivate static let downloads = """
        -- In the order of downloading, by rowid, so that the oldest can be forgotten. `token_file` is empty without one.
        CREATE TABLE download (
            url BLOB NOT NULL,
            token_file BLOB NOT NULL,
            etag TEXT,
            last_modified TEXT,
            sha1 TEXT NOT NULL,
            md5 TEXT NOT NULL,
            length INTEGER NOT NULL,
            content_type TEXT NOT NULL,
            UNIQUE (url, token_file)
        );
        """
}

/// The file was written by a newer changebot.
struct SupersededSchema: Error, CustomStringConvertible {
    /// The program that wrote it; nil if the file does not tell.
    let program: String?
    /// That of the file.
    let version: Int

    var description: String {
        let which = program.map { "version \($0) (this is \(ProgramVersion.current))" }
        let other = "version \(version) of the state (this program reads up to \(LedgerSchema.newestVersion))"
        return "it was written by a newer changebot, \(which ?? other); use that one, or another --name"
    }
}
