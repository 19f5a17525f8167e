internal import FoundationEssentials
internal import GRDB

/// A document that has left channels of a user.
struct Removal: Sendable {
    let document: Int64
    let id: String
    /// The revision with which it left them.
    let revision: String
    let isDeleted: Bool
    var channels: [String]
}

/// A row due in a feed that is limited to some channels.
struct ChannelChange: Sendable {
    enum Content: Sendable {
        case requestUser
        /// A document by its key, with the sequence of its newest change, and the channels that it left with that.
        case document(Int64, sequence: Int, removed: [String] = [])
        case removal(Removal)
        case revocation(Removal)
    }

    var position: FeedPosition
    var content: Content
}

/// A row is about one document at one position.
private struct ChangePlace: Hashable {
    let document: Int64
    let position: FeedPosition
}

extension Store {
    /// The rows due for some channels, in the order of the feed.
    ///
    /// A document older than the grant of its channel is due at that grant; with several channels, at each of their
    /// grants. A tombstone is not due at a grant. A document that leaves a channel is due then, even if it changes
    /// again or stays readable.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func channelChanges(
        since: FeedPosition, through end: Int, _ selection: ChangeSelection, _ grants: [String: Int]
    ) throws -> [ChannelChange] {
        try read { db in
            let newest = grants.values.max() ?? 0
            let isPast = since.trigger == nil && since.sequence >= newest
            let query = ChannelQuery(
                floor: isPast ? since.sequence : 0, end: end, since: since, grants: grants, ids: selection.idList,
                collection: collection)
            var changes = try query.changes(db, withRemovals: !selection.activeOnly)
            changes += try RevocationQuery(
                losses: selection.losses, held: Array(grants.keys), since: since, end: end, ids: selection.idList,
                collection: collection
            ).changes(db)
            let own = FeedPosition(selection.requestUser.sequence)
            if selection.ids == nil, own > since, own.sequence <= end {
                changes.append(ChannelChange(position: own, content: .requestUser))
            }
            return changes.sorted { $0.position < $1.position }
        }
    }

    /// A page of rows for these changes. Omits documents that have changed in the meantime, because they appear again
    /// later.
    func page(
        of changes: ArraySlice<ChannelChange>, limit: Int?, _ selection: ChangeSelection, since: FeedPosition,
        separator: String, isFirst: Bool
    ) throws -> (page: ChangesPage, used: Int) {
        try read { db in
            var page = ChangesPage(last: since, separator: separator, isFirst: isFirst)
            var used = 0
            let statement = try db.cachedStatement(
                sql: """
                    SELECT \(ChangeColumns.sql(selection))
                    FROM documents d JOIN revisions r ON r.key = d.winner WHERE d.key = ? AND d.sequence = ?
                    """)
            for change in changes {
                guard page.hasRoom(limit) else { break }
                used += 1
                switch change.content {
                case .requestUser: page.append(requestUser: selection.requestUser)
                case .removal(let removal):
                    try page.append(removal, change.position, selection, Self.body(of: removal, selection, db))
                case .revocation(let document):
                    page.append(
                        document, change.position, includesDocument: selection.includesDocuments, isRevoked: true)
                case .document(let key, let sequence, let removed):
                    guard let row = try Row.fetchOne(statement, arguments: [key, sequence]),
                        !(selection.activeOnly && row[ChangeColumns.isDeleted])
                    else { continue }
                    try page.append(
                        row, change.position, selection, Self.branches(row, selection, db), removed: removed)
                }
            }
            page.isLast = used == changes.count
            return (page, used)
        }
    }

    /// The revision with which a document left channels. Nil if it must not be shown, or the user may not read it.
    private static func body(of removal: Removal, _ selection: ChangeSelection, _ db: Database) throws -> Row? {
        guard selection.includesDocuments, !removal.isDeleted else { return nil }
        let statement = try db.cachedStatement(
            sql: """
                SELECT channels, version, body, attachments FROM revisions
                WHERE document = ? AND revision = ? AND body IS NOT NULL
                """)
        guard let row = try Row.fetchOne(statement, arguments: [removal.document, removal.revision]) else { return nil }
        let channels = DocumentChannels.read(stored: (row[0] as Data?).map { Array($0) })
        return selection.requestUser.sees(channels) ? row : nil
    }
}

private struct ChannelQuery {
    /// Nothing at or below this sequence can be due.
    let floor: Int
    let end: Int
    let since: FeedPosition
    let grants: [String: Int]
    let ids: String?
    let collection: Int64

    /// - Parameter withRemovals: Whether documents are due that have left a channel and are in no other.
    func changes(_ db: Database, withRemovals: Bool) throws -> [ChannelChange] {
        var due = try documents(db)
        for (place, removal) in try removals(db) {
            if case .document(let key, let sequence, _)? = due[place]?.content {
                due[place]?.content = .document(key, sequence: sequence, removed: removal.channels)
            } else if withRemovals {
                due[place] = ChannelChange(position: place.position, content: .removal(removal))
            }
        }
        return Array(due.values)
    }

    private func documents(_ db: Database) throws -> [ChangePlace: ChannelChange] {
        let rows = try cursor(
            "d.key, d.sequence, c.channel, r.deleted",
            "document_channels c JOIN documents d ON d.key = c.document JOIN revisions r ON r.key = d.winner",
            sequence: "d.sequence", db)
        var due: [ChangePlace: ChannelChange] = [:]
        while let row = try rows.next() {
            guard let position = position(row[1], row[2]), !(row[3] && position.trigger != nil) else { continue }
            let place = ChangePlace(document: row[0], position: position)
            due[place] = ChannelChange(position: position, content: .document(place.document, sequence: row[1]))
        }
        return due
    }

    private func removals(_ db: Database) throws -> [ChangePlace: Removal] {
        let rows = try cursor(
            "c.document, c.sequence, c.channel, d.id, c.revision, c.deleted",
            "removals c JOIN documents d ON d.key = c.document", sequence: "c.sequence", db)
        var due: [ChangePlace: Removal] = [:]
        while let row = try rows.next() {
            let sequence: Int = row[1]
            guard sequence >= grants[row[2]] ?? .max, FeedPosition(sequence) > since else { continue }
            let place = ChangePlace(document: row[0], position: FeedPosition(sequence))
            let known = due[place]?.channels ?? []
            due[place] = Removal(
                document: row[0], id: row[3], revision: row[4], isDeleted: row[5], channels: known + [row[2]])
        }
        return due
    }

    private func cursor(
        _ columns: String, _ tables: String, sequence: String, _ db: Database
    ) throws -> RowCursor {
        let channels = ChangeSelection.list(grants.keys)
        let sql = """
            SELECT \(columns) FROM \(tables)
            WHERE \(sequence) > ? AND \(sequence) <= ? AND +d.collection = \(collection)
                AND c.channel IN (SELECT value FROM json_each(?))\
            \(ids == nil ? "" : " AND d.id IN (SELECT value FROM json_each(?))")
            """
        var arguments: StatementArguments = [floor, end, channels]
        if let ids { arguments += [ids] }
        return try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The position of a document in a channel. Nil if the client already has it.
    private func position(_ sequence: Int, _ channel: String) -> FeedPosition? {
        guard let grant = grants[channel] else { return nil }
        let position = FeedPosition(sequence, trigger: Store.isBackfill(sequence, grant) ? grant : nil)
        return position > since ? position : nil
    }
}
