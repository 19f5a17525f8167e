internal import GRDB

/// Finds documents that a user could read only through channels that the user has since lost.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1, `revocations=true`: such a document is due at the loss,
///   `LOSS:SEQUENCE`, with the channel if it has since left that channel. Documents that entered the channel after the
///   loss are not due.
struct RevocationQuery {
    /// The lost channels, each with the sequence of the loss.
    let losses: [String: Int]
    /// The channels that the user still has.
    let held: [String]
    let since: FeedPosition
    /// The last sequence to include.
    let end: Int
    /// A JSON list. Nil for all documents.
    let ids: String?
    let collection: Int64

    func changes(_ db: Database) throws -> [ChannelChange] {
        let losses = losses.filter { $0.value <= end && FeedPosition(0, trigger: $0.value + 1) > since }
        guard !losses.isEmpty else { return [] }
        var due: [String: ChannelChange] = [:]
        try collect(remainingDocuments, losses, db, &due)
        try collect(removed, losses, namesChannels: true, db, &due)
        if losses[RequestUser.starChannel] != nil { try collect(all, losses, db, &due) }
        return Array(due.values)
    }

    /// Documents that are still in those channels.
    private var remainingDocuments: String {
        """
        SELECT d.id, d.sequence, c.channel, c.sequence, r.revision, r.deleted, d.key AS document
        FROM document_channels c JOIN documents d ON d.key = c.document JOIN revisions r ON r.key = d.winner
        """
    }

    /// Documents that left those channels after the user lost access to them.
    private var removed: String {
        """
        SELECT d.id, c.sequence, c.channel, c.entered, c.revision, c.deleted, d.key AS document
        FROM removals c JOIN documents d ON d.key = c.document AND c.sequence > \(since.plainSequence)
        """
    }

    /// For the channel of all documents. If a document has several revisions, some may be older than the loss.
    private var all: String {
        """
        SELECT d.id, d.sequence, '\(RequestUser.starChannel)' AS channel, iif(r.generation > 1, 0, d.sequence), r.revision,
            r.deleted, d.key AS document
        FROM documents d JOIN revisions r ON r.key = d.winner
        """
    }

    private func collect(
        _ select: String, _ losses: [String: Int], namesChannels: Bool = false, _ db: Database,
        _ due: inout [String: ChannelChange]
    ) throws {
        let sql = """
            \(select)
            WHERE d.collection = \(collection) AND d.sequence <= \(end)
                AND channel IN (SELECT value FROM json_each(?)) AND NOT EXISTS (
                    SELECT 1 FROM document_channels o
                    WHERE o.document = d.key AND o.channel IN (SELECT value FROM json_each(?)))\
            \(ids == nil ? "" : " AND d.id IN (SELECT value FROM json_each(?))")
            """
        var arguments: StatementArguments = [ChangeSelection.list(losses.keys), ChangeSelection.list(held)]
        if let ids { arguments += [ids] }
        let rows = try Row.fetchCursor(db, sql: sql, arguments: arguments)
        while let row = try rows.next() {
            guard let loss = losses[row[2]], (row[3] as Int) <= loss else { continue }
            let position = FeedPosition(row[1], trigger: loss)
            guard position > since, position > due[row[0]]?.position ?? .start else { continue }
            let document = Removal(
                document: row[6], id: row[0], revision: row[4], isDeleted: row[5],
                channels: namesChannels ? [row[2]] : [])
            due[document.id] = ChannelChange(position: position, content: .revocation(document))
        }
    }
}
