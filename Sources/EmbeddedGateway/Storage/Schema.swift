internal import GRDB

/// The whole schema of a gateway's file.
///
/// - `collections`: `SCOPE.COLLECTION` by number; 0 is `_default._default`.
/// - `documents`: one row per collection and document id. `sequence` is that of its newest change, so that the changes
///   feed is one walk over an index; `winner` is the key of its winning revision, `leaves` how many branches its tree
///   has.
/// - `revisions`: the revision tree of each document. `parent` is the key of the revision before, null at a root, and
///   names nothing where that revision has been pruned. `body` is null where only the name is known, from the history
///   of a replicated revision or because the body has expired. `attachments` is the text of `_attachments`, stubs only.
///   `superseded` is when the revision with a body got a child, in seconds since 1970. `channels` is a JSON list, null
///   for none. `version` is what the wire calls `_cv`; null where only the name is known.
/// - `versions`: what this database's versions are named after, and the time of the newest.
/// - `document_channels`: where each document is now, by its winning revision, and the sequence at which it came there.
/// - `removals`: channels that a document has left, with the sequence and the revision of that change.
/// - `principals`, `grants`: users and roles, what they were given, and at which sequence; `ended` is the one at which
///   it was taken away again. Roles are in no collection.
/// - `attachments`: contents, once per digest whatever documents have them.
/// - `document_attachments`: which documents were sent a content. A stub with the digest of another document's
///   attachment opens nothing, as in the real gateway.
/// - `local_documents`: `_local/NAME`, not replicated, not in the changes feed.
/// - `counters`: the highest sequence given out. Sequences are never used twice, not even after a purge.
///
/// Keys point both ways between documents and revisions, so there are no foreign keys: one place writes both.
enum Schema {
    /// In the file of every gateway.
    static let firstMigration = "1: documents, attachments, local documents"

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(firstMigration) { db in
            try db.execute(sql: first)
        }
        migrator.registerMigration("2: branches, bodies that expire") { db in
            try db.execute(sql: branches)
        }
        migrator.registerMigration("3: channels, users, roles") { db in
            try db.execute(sql: channels)
            try ChannelRouting.routeStoredDocuments(db)
        }
        migrator.registerMigration("4: collections") { db in
            try db.execute(sql: collections)
        }
        migrator.registerMigration("5: versions, channels by collection, what was lost") { db in
            try db.execute(sql: versions)
            try db.execute(
                sql: "INSERT INTO versions VALUES (?, 0)", arguments: [DocumentVersions.makeSource()])
        }
        return migrator
    }

    private static let first = """
        CREATE TABLE documents (
            key INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            sequence INTEGER NOT NULL UNIQUE,
            winner INTEGER NOT NULL
        );
        CREATE TABLE revisions (
            key INTEGER PRIMARY KEY,
            document INTEGER NOT NULL,
            revision TEXT NOT NULL,
            generation INTEGER NOT NULL,
            parent INTEGER,
            deleted INTEGER NOT NULL,
            attachments BLOB,
            body BLOB,
            UNIQUE (document, revision)
        );
        CREATE TABLE attachments (
            key INTEGER PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            content BLOB NOT NULL
        );
        CREATE TABLE document_attachments (
            document INTEGER NOT NULL,
            attachment INTEGER NOT NULL,
            PRIMARY KEY (document, attachment)
        ) WITHOUT ROWID;
        CREATE TABLE local_documents (
            name TEXT PRIMARY KEY,
            revision INTEGER NOT NULL,
            body BLOB NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE counters (
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) WITHOUT ROWID;
        INSERT INTO counters VALUES ('sequence', \(Store.guestSequence));
        """

    /// Files of the first version hold one branch per document, and bodies that were never thrown away.
    private static let branches = """
        ALTER TABLE documents ADD COLUMN leaves INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE revisions ADD COLUMN superseded INTEGER;
        UPDATE revisions SET superseded = 0
            WHERE body IS NOT NULL AND key IN (SELECT parent FROM revisions WHERE parent IS NOT NULL);
        CREATE INDEX revisions_by_superseded ON revisions (superseded) WHERE superseded IS NOT NULL;
        CREATE INDEX document_attachments_by_attachment ON document_attachments (attachment);
        """

    private static let channels = """
        ALTER TABLE revisions ADD COLUMN channels BLOB;
        CREATE TABLE document_channels (
            document INTEGER NOT NULL,
            channel TEXT NOT NULL,
            PRIMARY KEY (document, channel)
        ) WITHOUT ROWID;
        CREATE TABLE removals (
            document INTEGER NOT NULL,
            channel TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            revision TEXT NOT NULL,
            deleted INTEGER NOT NULL,
            PRIMARY KEY (document, channel)
        ) WITHOUT ROWID;
        CREATE INDEX removals_by_sequence ON removals (sequence);
        CREATE TABLE principals (
            key TEXT PRIMARY KEY,
            sequence INTEGER NOT NULL,
            disabled INTEGER NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE grants (
            principal TEXT NOT NULL,
            name TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            PRIMARY KEY (principal, name)
        ) WITHOUT ROWID;
        """

    /// SQLite can't change what is unique: both tables are made anew.
    private static let collections = """
        CREATE TABLE collections (
            key INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        );
        INSERT INTO collections VALUES (0, '_default._default');
        CREATE TABLE collected_documents (
            key INTEGER PRIMARY KEY,
            collection INTEGER NOT NULL,
            id TEXT NOT NULL,
            sequence INTEGER NOT NULL UNIQUE,
            winner INTEGER NOT NULL,
            leaves INTEGER NOT NULL DEFAULT 1,
            UNIQUE (collection, id)
        );
        INSERT INTO collected_documents SELECT key, 0, id, sequence, winner, leaves FROM documents;
        DROP TABLE documents;
        ALTER TABLE collected_documents RENAME TO documents;
        CREATE TABLE collected_local_documents (
            collection INTEGER NOT NULL,
            name TEXT NOT NULL,
            revision INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (collection, name)
        ) WITHOUT ROWID;
        INSERT INTO collected_local_documents SELECT 0, name, revision, body FROM local_documents;
        DROP TABLE local_documents;
        ALTER TABLE collected_local_documents RENAME TO local_documents;
        """

    private static let versions = """
        ALTER TABLE revisions ADD COLUMN version TEXT;
        ALTER TABLE document_channels ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE versions (
            source TEXT NOT NULL,
            time INTEGER NOT NULL
        );
        CREATE TABLE collected_grants (
            principal TEXT NOT NULL,
            collection TEXT NOT NULL,
            name TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            ended INTEGER,
            PRIMARY KEY (principal, collection, name)
        ) WITHOUT ROWID;
        INSERT INTO collected_grants
            SELECT principal, '', substr(name, 6), sequence, NULL FROM grants WHERE name LIKE 'role:%';
        INSERT INTO collected_grants
            SELECT principal, '_default._default', name, sequence, NULL FROM grants WHERE name NOT LIKE 'role:%';
        DROP TABLE grants;
        ALTER TABLE collected_grants RENAME TO grants;
        """
}
