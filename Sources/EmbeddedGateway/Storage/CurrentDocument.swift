internal import FoundationEssentials
internal import GRDB

/// The state of a stored document that a write needs.
struct CurrentDocument {
    let key: Int64
    /// The winning revision.
    let winner: ParentRevision
    let isDeleted: Bool
    /// `_cv`. Nil if the winner has none.
    let version: String?
    /// The number of branches in its revision tree.
    let leafCount: Int
    /// The channels it is in.
    let channels: [String]

    static func find(_ id: String, in collection: Int64, _ db: Database) throws -> CurrentDocument? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT d.key, d.leaves, r.deleted, r.key, r.revision, r.attachments, r.channels, r.version
                FROM documents d JOIN revisions r ON r.key = d.winner
                WHERE d.collection = \(collection) AND d.id = ?
                """)
        guard let row = try Row.fetchOne(statement, arguments: [id]), let revision = StoredRevisionID(row[4]) else {
            return nil
        }
        let winner = ParentRevision(key: row[3], id: revision, attachments: (row[5] as Data?).map { Array($0) })
        let channels = DocumentChannels.read(stored: (row[6] as Data?).map { Array($0) })
        return CurrentDocument(
            key: row[0], winner: winner, isDeleted: row[2], version: row[7], leafCount: row[1], channels: channels)
    }
}

/// The revision that a new one continues.
struct ParentRevision {
    let key: Int64
    let id: StoredRevisionID
    /// `_attachments` as text. Nil if there are none, or only the revision's id is known.
    let attachments: [UInt8]?

    init(key: Int64, id: StoredRevisionID, attachments: [UInt8]?) {
        self.key = key
        self.id = id
        self.attachments = attachments
    }

    init(_ node: RevisionTree.Node, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "SELECT attachments FROM revisions WHERE key = ?")
        let attachments = try Row.fetchOne(statement, arguments: [node.key]).flatMap { $0[0] as Data? }
        self.init(key: node.key, id: node.id, attachments: attachments.map { Array($0) })
    }
}
