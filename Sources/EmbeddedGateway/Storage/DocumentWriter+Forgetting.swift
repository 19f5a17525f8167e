internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON

/// Removes old bodies, old revision ids, and contents that no document refers to.
extension DocumentWriter {
    /// Records when a revision stopped being a leaf; its body is kept for a while longer.
    func supersede(_ parent: ParentRevision) throws {
        try db.cachedStatement(sql: "UPDATE revisions SET superseded = ? WHERE key = ? AND body IS NOT NULL")
            .execute(arguments: [rules.now(), parent.key])
    }

    /// The maximum number of bodies removed by one transaction, so that earlier writes don't slow down a later one.
    private static let expiredAtOnce = 200

    /// Removes the bodies of revisions that were replaced long enough ago. Keeps their ids.
    func expireBodies() throws {
        let statement = try db.cachedStatement(
            sql: "SELECT key, document FROM revisions WHERE superseded <= ? ORDER BY superseded LIMIT ?")
        let expired = try Row.fetchAll(
            statement, arguments: [rules.now() - rules.oldBodySeconds, Self.expiredAtOnce])
        guard !expired.isEmpty else { return }
        for row in expired {
            try db.cachedStatement(
                sql: "UPDATE revisions SET body = NULL, attachments = NULL, superseded = NULL WHERE key = ?"
            ).execute(arguments: [row[0] as Int64])
        }
        for documentKey in Set(expired.map { $0[1] as Int64 }) { try releaseContents(of: documentKey) }
    }

    /// Removes revisions that are too many generations behind.
    ///
    /// With branches, generations are counted back from the oldest leaf, so that every branch keeps its leaf.
    func prune(_ documentKey: Int64, newest: StoredRevisionID, leafCount: Int) throws {
        guard newest.generation > rules.revisionsLimit else { return }
        var oldest = newest.generation
        if leafCount > 1 {
            oldest = try RevisionTree(of: documentKey, db).leaves.map(\.id.generation).min() ?? oldest
        }
        guard oldest > rules.revisionsLimit else { return }
        try db.cachedStatement(sql: "DELETE FROM revisions WHERE document = ? AND generation <= ?")
            .execute(arguments: [documentKey, oldest - rules.revisionsLimit])
        try releaseContents(of: documentKey)
    }

    /// Removes a document, with everything that refers to it.
    mutating func purge(_ documentKey: Int64) throws {
        changedPrincipals.formUnion(
            try DocumentGrants(db: db).replace(documentKey, with: [], sequence: sequence))
        for table in ["revisions", "document_channels", "removals"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE document = ?").execute(arguments: [documentKey])
        }
        try releaseContents(of: documentKey)
        try db.cachedStatement(sql: "DELETE FROM documents WHERE key = ?").execute(arguments: [documentKey])
    }

    func storeContents(_ attachments: [IncomingAttachment], of documentKey: Int64) throws {
        for case .bytes(let bytes, let digest) in attachments.lazy.map(\.content) {
            try db.cachedStatement(sql: "INSERT OR IGNORE INTO attachments (digest, content) VALUES (?, ?)")
                .execute(arguments: [digest, Data(bytes)])
            try db.cachedStatement(
                sql: """
                    INSERT OR IGNORE INTO document_attachments (document, attachment)
                    SELECT ?, key FROM attachments WHERE digest = ?
                    """
            ).execute(arguments: [documentKey, digest])
        }
    }

    /// Removes the contents that no revision of the document refers to, unless another document also owns them.
    private func releaseContents(of documentKey: Int64) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT a.key, a.digest FROM document_attachments o JOIN attachments a ON a.key = o.attachment
                WHERE o.document = ?
                """)
        let owned = try Row.fetchAll(statement, arguments: [documentKey])
        guard !owned.isEmpty else { return }
        let named = try namedDigests(of: documentKey)
        for row in owned where !named.contains(row[1]) { try release(row[0], of: documentKey) }
    }

    private func release(_ attachmentKey: Int64, of documentKey: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM document_attachments WHERE document = ? AND attachment = ?")
            .execute(arguments: [documentKey, attachmentKey])
        try db.cachedStatement(
            sql: """
                DELETE FROM attachments
                WHERE key = ? AND key NOT IN (SELECT attachment FROM document_attachments WHERE attachment = ?)
                """
        ).execute(arguments: [attachmentKey, attachmentKey])
    }

    private func namedDigests(of documentKey: Int64) throws -> Set<String> {
        let statement = try db.cachedStatement(
            sql: "SELECT attachments FROM revisions WHERE document = ? AND attachments IS NOT NULL")
        var digests: Set<String> = []
        for entries in try Data.fetchAll(statement, arguments: [documentKey]) {
            let root = try JSONText(Array(entries)).root
            digests.formUnion(root.members.compactMap { $0.value["digest"]?.string })
        }
        return digests
    }
}
