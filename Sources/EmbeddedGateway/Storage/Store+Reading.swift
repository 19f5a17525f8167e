internal import FoundationEssentials
internal import GRDB

extension Store {
    /// The winning revision, which may be a tombstone. Nil if the document never existed.
    func winner(of id: String) throws -> StoredDocument? {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT d.id, r.revision, r.deleted, r.body, r.attachments, r.channels, r.version
                    FROM documents d JOIN revisions r ON r.key = d.winner
                    WHERE d.collection = \(collection) AND d.id = ?
                    """)
            return try Row.fetchOne(statement, arguments: [id]).map(StoredDocument.init)
        }
    }

    /// One revision, by its id or its version. Nil if it is unknown or its body was removed.
    func revision(_ revision: String, of id: String) throws -> StoredDocument? {
        let column = DocumentVersions.isVersion(revision) ? "version" : "revision"
        return try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT d.id, r.revision, r.deleted, r.body, r.attachments, r.channels, r.version
                    FROM documents d JOIN revisions r ON r.document = d.key
                    WHERE d.collection = \(collection) AND d.id = ? AND r.\(column) = ? AND r.body IS NOT NULL
                    """)
            return try Row.fetchOne(statement, arguments: [id, revision]).map(StoredDocument.init)
        }
    }

    /// A revision and its known ancestors, newest first.
    func history(of revision: String, of id: String) throws -> [StoredRevisionID] {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    WITH RECURSIVE line (revision, parent) AS (
                        SELECT r.revision, r.parent FROM documents d JOIN revisions r ON r.document = d.key
                        WHERE d.collection = \(collection) AND d.id = ? AND r.revision = ?
                        UNION ALL
                        SELECT r.revision, r.parent FROM line JOIN revisions r ON r.key = line.parent
                    )
                    SELECT revision FROM line
                    """)
            return try String.fetchAll(statement, arguments: [id, revision]).compactMap { StoredRevisionID($0) }
        }
    }

    /// The length of a document's attachment with this digest. Nil if the document does not own such a content.
    func attachmentLength(_ digest: String, of id: String) throws -> Int? {
        try read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT length(a.content) FROM documents d
                    JOIN attachments a ON a.digest = ?
                    JOIN document_attachments o ON o.document = d.key AND o.attachment = a.key
                    WHERE d.collection = \(collection) AND d.id = ?
                    """, arguments: [digest, id])
        }
    }

    /// A range of the content with this digest. Nil if no document has it any more.
    func attachmentContent(_ digest: String, _ range: Range<Int>) throws -> [UInt8]? {
        try read { db in
            try Data.fetchOne(
                db, sql: "SELECT substr(content, ?, ?) FROM attachments WHERE digest = ?",
                arguments: [range.lowerBound + 1, range.count, digest]
            ).map { Array($0) }
        }
    }

    /// The contents that a document owns with these digests. Long ones without their bytes.
    func attachmentContents(_ digests: [String], of id: String) throws -> [String: OutgoingAttachment.Content] {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT length(a.content), iif(length(a.content) <= \(OutgoingAttachment.inlineLimit), a.content, x'')
                    FROM documents d
                    JOIN attachments a ON a.digest = ?
                    JOIN document_attachments o ON o.document = d.key AND o.attachment = a.key
                    WHERE d.collection = \(collection) AND d.id = ?
                    """)
            var contents: [String: OutgoingAttachment.Content] = [:]
            for digest in digests {
                guard let row = try Row.fetchOne(statement, arguments: [digest, id]) else { continue }
                let length: Int = row[0]
                contents[digest] =
                    length <= OutgoingAttachment.inlineLimit
                    ? .loaded(Array(row[1] as Data)) : .stored(StoredContent(digest: digest, length: length))
            }
            return contents
        }
    }
}

extension StoredDocument {
    init(_ row: Row) {
        self.init(
            id: row[0], revision: row[1], isDeleted: row[2], body: Array((row[3] as Data?) ?? Data()),
            attachments: (row[4] as Data?).map { Array($0) },
            channels: DocumentChannels.read(stored: (row[5] as Data?).map { Array($0) }), version: row[6])
    }
}
