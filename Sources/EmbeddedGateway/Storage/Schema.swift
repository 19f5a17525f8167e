internal import GRDB

/// The whole schema of a gateway's file.
///
/// - `documents`: one row per document id. `sequence` is that of its newest change, so that the changes feed is one walk
///   over an index; `winner` is the key of its winning revision.
/// - `revisions`: the revision tree of each document. `parent` is the key of the revision before, null at a root. `body`
///   is null where only the name is known, from the history of a replicated revision. `attachments` is the text of
///   `_attachments`, stubs only.
/// - `attachments`: contents, once per digest whatever documents have them.
/// - `document_attachments`: which documents were sent a content. A stub with the digest of another document's
///   attachment opens nothing, as in the real gateway.
/// - `local_documents`: `_local/NAME`, not replicated, not in the changes feed.
/// - `counters`: the highest sequence given out. Sequences are never used twice, not even after a purge.
///
/// Keys point both ways between documents and revisions, so there are no foreign keys: one place writes both.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1: documents, attachments, local documents") { db in
            try db.execute(sql: first)
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
}
