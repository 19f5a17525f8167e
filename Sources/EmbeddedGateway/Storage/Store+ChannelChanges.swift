internal import GRDB

/// A document that has left channels of a user and is in none of the user's channels any more.
struct Removal: Sendable {
    let id: String
    let revision: String
    let isDeleted: Bool
    var channels: [String]
}

/// A row due in a feed that is limited to some channels.
struct ChannelChange: Sendable {
    enum Content: Sendable {
        case visitor
        /// A document by its key, with the sequence of its newest change.
        case document(Int64, sequence: Int)
        case removal(Removal)
        case revocation(Removal)
    }

    var position: FeedPosition
    let content: Content
}

extension Store {
    /// The rows due for some channels, in the order of the feed.
    ///
    /// A document older than the grant of its channel is due at that grant; with several channels, at the first
    /// position after `since`.
    func channelChanges(
        since: FeedPosition, through end: Int, _ selection: ChangeSelection, _ grants: [String: Int]
    ) throws -> [ChannelChange] {
        try read { db in
            let newest = grants.values.max() ?? 0
            let isPast = since.trigger == nil && since.sequence >= newest
            let query = ChannelQuery(
                floor: isPast ? since.sequence : 0, end: end, since: since, grants: grants, ids: selection.idList,
                collection: collection)
            var changes = try query.documents(db)
            if !selection.activeOnly { changes += try query.removals(db) }
            changes += try RevocationQuery(
                losses: selection.losses, held: Array(grants.keys), since: since, end: end, ids: selection.idList,
                collection: collection
            ).changes(db)
            let own = FeedPosition(selection.visitor.sequence)
            if selection.ids == nil, own > since, own.sequence <= end {
                changes.append(ChannelChange(position: own, content: .visitor))
            }
            return changes.sorted { $0.position < $1.position }
        }
    }

    /// A page of rows for these changes. A document that has changed meanwhile is left out, because it comes again
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
                case .visitor: page.append(visitor: selection.visitor)
                case .removal(let removal):
                    page.append(
                        removal, change.position, includesDocument: selection.includesDocuments, isRevoked: false)
                case .revocation(let document):
                    page.append(
                        document, change.position, includesDocument: selection.includesDocuments, isRevoked: true)
                case .document(let key, let sequence):
                    guard let row = try Row.fetchOne(statement, arguments: [key, sequence]),
                        !(selection.activeOnly && row[ChangeColumns.isDeleted])
                    else { continue }
                    try page.append(row, change.position, selection, Self.branches(row, selection, db))
                }
            }
            page.isLast = used == changes.count
            return (page, used)
        }
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

    func documents(_ db: Database) throws -> [ChannelChange] {
        let rows = try cursor(
            "d.key, d.sequence, c.channel",
            "document_channels c JOIN documents d ON d.key = c.document", sequence: "d.sequence", db)
        var due: [Int64: ChannelChange] = [:]
        while let row = try rows.next() {
            guard let position = position(row[1], row[2]) else { continue }
            let key: Int64 = row[0]
            if let known = due[key], known.position < position { continue }
            due[key] = ChannelChange(position: position, content: .document(key, sequence: row[1]))
        }
        return Array(due.values)
    }

    func removals(_ db: Database) throws -> [ChannelChange] {
        let inOthers = """
             AND NOT EXISTS (SELECT 1 FROM document_channels o WHERE o.document = c.document
                AND o.channel IN (SELECT value FROM json_each(?)))
            """
        let rows = try cursor(
            "c.document, c.sequence, c.channel, d.id, c.revision, c.deleted",
            "removals c JOIN documents d ON d.key = c.document", sequence: "c.sequence", db, and: inOthers)
        var due: [Int64: (sequence: Int, removal: Removal)] = [:]
        while let row = try rows.next() {
            let sequence: Int = row[1]
            guard sequence > grants[row[2]] ?? .max, FeedPosition(sequence) > since else { continue }
            if var known = due[row[0]], known.sequence == sequence {
                known.removal.channels.append(row[2])
                due[row[0]] = known
            } else if sequence > due[row[0]]?.sequence ?? 0 {
                let removal = Removal(
                    id: row[3], revision: row[4], isDeleted: row[5], channels: [row[2]])
                due[row[0]] = (sequence, removal)
            }
        }
        return due.values.map { ChannelChange(position: FeedPosition($0.sequence), content: .removal($0.removal)) }
    }

    private func cursor(
        _ columns: String, _ tables: String, sequence: String, _ db: Database, and condition: String = ""
    ) throws -> RowCursor {
        let channels = ChangeSelection.list(grants.keys)
        let sql = """
            SELECT \(columns) FROM \(tables)
            WHERE \(sequence) > ? AND \(sequence) <= ? AND +d.collection = \(collection)
                AND c.channel IN (SELECT value FROM json_each(?))\
            \(ids == nil ? "" : " AND d.id IN (SELECT value FROM json_each(?))")\(condition)
            """
        var arguments: StatementArguments = [floor, end, channels]
        if let ids { arguments += [ids] }
        if !condition.isEmpty { arguments += [channels] }
        return try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The position of a document in a channel; nil if the client has it already.
    private func position(_ sequence: Int, _ channel: String) -> FeedPosition? {
        guard let grant = grants[channel] else { return nil }
        let position = FeedPosition(sequence, trigger: Store.isBackfill(sequence, grant) ? grant : nil)
        return position > since ? position : nil
    }
}
