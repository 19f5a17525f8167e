internal import GRDB

/// The whole schema of a gateway's file.
///
/// - `collections`: `SCOPE.COLLECTION` by number; 0 is `_default._default`.
/// - `documents`: one row per collection and document id. `sequence` is that of its newest change, so the changes feed
///   is one scan of an index; `winner` is the key of its winning revision, `leaves` the number of branches of its tree.
///   `expires` is when it becomes a tombstone, in seconds since 1970; null: never.
/// - `revisions`: the revision tree of each document. `parent` is the key of the parent revision: null at a root, and
///   dangling if that revision was pruned. `body` is null if only the revision's id is known, from the history of a
///   replicated revision or because the body has expired. `attachments` is the text of `_attachments`, stubs only.
///   `superseded` is when a revision with a body got a child, in seconds since 1970. `channels` is a JSON list, null
///   for none. `version` is `_cv` in the API; null if only the id is known.
/// - `versions`: the source of this database's versions and the time of the newest.
/// - `document_channels`: the channels of each document's winning revision, with the sequence at which it entered.
/// - `removals`: channels that a document has left, with the sequence and the revision of that change, and the sequence
///   at which it had entered.
/// - `principals`, `grants`: users and roles, their channels and roles, and the sequence of each grant; `ended` is the
///   sequence at which it was taken away. Grants of roles have no collection.
/// - `document_grants`: what documents grant to principals through the sync function, and the sequence of the change
///   that began it. A principal may be made later.
/// - `attachments`: contents, stored once per digest.
/// - `document_attachments`: which documents own a content. A stub with the digest of another document's attachment
///   gives no access to it, as in the real gateway.
/// - `local_documents`: `_local/NAME`, not replicated, not in the changes feed.
/// - `counters`: the highest sequence assigned. Sequences are never reused, not even after a purge.
///
/// Documents and revisions refer to each other, so there are no foreign keys; one place writes both.
enum Schema {
    /// A migration that every gateway file has.
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
        migrator.registerMigration("6: grants by documents, expiry") { db in
            try db.execute(sql: documentGrants)
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

    /// In files of the first version documents have one branch, and bodies never expire.
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

    /// SQLite can't change a unique constraint, so both tables are rebuilt.
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

    private static let documentGrants = """
        CREATE TABLE document_grants (
            document INTEGER NOT NULL,
            principal TEXT NOT NULL,
            collection TEXT NOT NULL,
            name TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            PRIMARY KEY (document, principal, collection, name)
        ) WITHOUT ROWID;
        CREATE INDEX document_grants_by_principal ON document_grants (principal, collection, name, sequence);
        ALTER TABLE removals ADD COLUMN entered INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE documents ADD COLUMN expires INTEGER;
        CREATE INDEX documents_by_expiry ON documents (expires) WHERE expires IS NOT NULL;
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
