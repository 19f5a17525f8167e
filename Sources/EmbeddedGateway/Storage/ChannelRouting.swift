internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON

/// Records which channels documents are in, and which they have left.
struct ChannelRouting {
    let db: Database

    /// - Parameters:
    ///   - sequence: The sequence of the change.
    ///   - revision: The winning revision after the change, and whether it is a tombstone.
    func move(
        _ documentKey: Int64, from old: [String], to new: [String], sequence: Int,
        revision: (name: String, isDeleted: Bool)
    ) throws {
        guard old != new else { return }
        for channel in old where !new.contains(channel) {
            try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO removals (document, channel, sequence, revision, deleted, entered)
                    SELECT document, channel, ?, ?, ?, sequence FROM document_channels
                    WHERE document = ? AND channel = ?
                    """
            ).execute(arguments: [sequence, revision.name, revision.isDeleted, documentKey, channel])
            try db.cachedStatement(sql: "DELETE FROM document_channels WHERE document = ? AND channel = ?")
                .execute(arguments: [documentKey, channel])
        }
        for channel in new where !old.contains(channel) {
            try db.cachedStatement(sql: "INSERT INTO document_channels (document, channel, sequence) VALUES (?, ?, ?)")
                .execute(arguments: [documentKey, channel, sequence])
            try db.cachedStatement(sql: "DELETE FROM removals WHERE document = ? AND channel = ?")
                .execute(arguments: [documentKey, channel])
        }
    }

    /// The channels stored with a revision.
    func channels(ofRevision key: Int64) throws -> [String] {
        let statement = try db.cachedStatement(sql: "SELECT channels FROM revisions WHERE key = ?")
        let text = try Row.fetchOne(statement, arguments: [key]).flatMap { $0[0] as Data? }
        return DocumentChannels.read(stored: text.map { Array($0) })
    }

    /// Migrates files that were written before channels were stored.
    static func routeStoredDocuments(_ db: Database) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT r.key, r.document, r.body, d.winner = r.key
                FROM revisions r JOIN documents d ON d.key = r.document
                WHERE instr(r.body, CAST('"channels"' AS BLOB)) > 0
                """)
        while let row = try rows.next() {
            let channels = DocumentChannels.read(try JSONText(Array(row[2] as Data)).root)
            try db.execute(
                sql: "UPDATE revisions SET channels = ? WHERE key = ?",
                arguments: [DocumentChannels.write(channels).map { Data($0) }, row[0] as Int64])
            guard row[3] else { continue }
            for channel in channels {
                try db.execute(
                    sql: "INSERT INTO document_channels (document, channel) VALUES (?, ?)",
                    arguments: [row[1] as Int64, channel])
            }
        }
    }
}
