internal import GRDB
internal import LosslessJSON

/// Which changes a feed returns, and in which form.
struct ChangeSelection: Sendable {
    /// The user of the feed.
    var requestUser = RequestUser.unrestricted
    /// `filter=sync_gateway/bychannel`. Nil for all of the user's channels.
    var channels: Set<String>?
    var includesDocuments = false
    /// `style=all_docs`: adds the leaf revisions of all branches.
    var includesBranches = false
    /// `active_only=true`: omits tombstones and removals.
    var activeOnly = false
    /// `version_type=cv`: lists versions instead of revisions.
    var namesVersions = false
    /// `revocations=true`: adds documents of channels that the user has lost.
    var includesRevocations = false
    /// `filter=_doc_ids`. Nil for all.
    var ids: [String]?

    /// The relevant channels, each with the sequence of its grant. Nil without a filter.
    var grants: [String: Int]? {
        guard requestUser.seesEverything else {
            return requestUser.channels.filter { includes($0.key) }
        }
        guard let channels, !channels.contains(RequestUser.starChannel) else { return nil }
        return Dictionary(uniqueKeysWithValues: channels.map { ($0, Store.guestSequence) })
    }

    /// The relevant lost channels, each with the sequence of the loss.
    var losses: [String: Int] {
        guard includesRevocations, !activeOnly else { return [:] }
        return requestUser.lostChannels.filter { includes($0.key) }
    }

    /// Whether the filter accepts a channel of the user. `*` stands for all channels.
    private func includes(_ channel: String) -> Bool {
        channels.map { $0.contains(channel) || $0.contains(RequestUser.starChannel) } ?? true
    }

    var idList: String? {
        guard let ids else { return nil }
        return Self.list(ids)
    }

    /// A JSON list, for `json_each`.
    static func list(_ names: some Sequence<String>) -> String {
        var list = JSONWriter()
        list.array { list in for name in names { list.string(name) } }
        return String(decoding: list.bytes, as: UTF8.self)
    }
}

extension Store {
    /// The changes after `since`, only the newest for each document.
    ///
    /// - Parameters:
    ///   - end: The last sequence to include.
    ///   - limit: The maximum number of rows. Nil for no limit.
    ///   - separator: Precedes each row except the first, for feeds that are one JSON array.
    ///   - isFirst: Whether the page's first row is the answer's first.
    func changes(
        since: FeedPosition, through end: Int, limit: Int?, _ selection: ChangeSelection, separator: String,
        isFirst: Bool
    ) throws -> ChangesPage {
        try read { db in
            var page = ChangesPage(last: since, separator: separator, isFirst: isFirst)
            let grant = selection.requestUser.channels[RequestUser.starChannel] ?? Self.guestSequence
            let rows = try rows(since: Self.floor(since, grant), through: end, selection, db)
            var own = Self.userRowPosition(selection, since: since, through: end)
            while page.hasRoom(limit), let row = try rows.next() {
                let sequence: Int = row[ChangeColumns.sequence]
                let position = FeedPosition(sequence, trigger: Self.isBackfill(sequence, grant) ? grant : nil)
                if let due = own, due < position {
                    page.append(requestUser: selection.requestUser)
                    own = nil
                    guard page.hasRoom(limit) else { break }
                }
                if position.trigger != nil, row[ChangeColumns.isDeleted] { continue }
                try page.append(row, position, selection, Self.branches(row, selection, db))
            }
            if own != nil, page.hasRoom(limit) { page.append(requestUser: selection.requestUser) }
            page.isLast = page.hasRoom(limit)
            return page
        }
    }

    /// The position of the user's own row. Nil if the client already has it.
    private static func userRowPosition(
        _ selection: ChangeSelection, since: FeedPosition, through end: Int
    ) -> FeedPosition? {
        let own = FeedPosition(selection.requestUser.sequence)
        return selection.ids == nil && own > since && own.sequence <= end ? own : nil
    }

    /// Whether a change is older than the grant that made it visible.
    static func isBackfill(_ sequence: Int, _ grant: Int) -> Bool { grant > guestSequence && sequence < grant }

    /// The sequence up to which nothing is due for a user who sees all documents since `grant`.
    private static func floor(_ since: FeedPosition, _ grant: Int) -> Int {
        guard grant > guestSequence, since.trigger != grant else {
            return since.trigger == grant ? since.sequence : since.plainSequence
        }
        return since.plainSequence >= grant ? since.plainSequence : 0
    }

    private func rows(
        since: Int, through end: Int, _ selection: ChangeSelection, _ db: Database
    ) throws -> RowCursor {
        let sql = """
            SELECT \(ChangeColumns.sql(selection))
            FROM documents d JOIN revisions r ON r.key = d.winner
            WHERE d.sequence > ? AND d.sequence <= ? AND +d.collection = \(collection)\
            \(selection.activeOnly ? " AND r.deleted = 0" : "")\
            \(selection.ids == nil ? "" : " AND d.id IN (SELECT value FROM json_each(?))")
            ORDER BY d.sequence
            """
        var arguments: StatementArguments = [since, end]
        if let ids = selection.idList { arguments += [ids] }
        return try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The leaves of the branches that did not win, the highest id first.
    static func branches(_ row: Row, _ selection: ChangeSelection, _ db: Database) throws -> [String] {
        guard selection.includesBranches, row[ChangeColumns.leaves] as Int > 1 else { return [] }
        let winner: String = row[ChangeColumns.revision]
        let leaves = try RevisionTree(of: row[ChangeColumns.document], db).leaves
        return leaves.reversed().map(\.id.description).filter { $0 != winner }
    }
}
