internal import GRDB
internal import LosslessJSON

/// Which changes a feed shows, and how.
struct ChangeSelection: Sendable {
    /// Whose feed it is.
    var visitor = Visitor.everyone
    /// `filter=sync_gateway/bychannel`; nil for all that the visitor has.
    var channels: Set<String>?
    var includesDocuments = false
    /// `style=all_docs`: with the names of all branches.
    var includesBranches = false
    /// Without tombstones and removals.
    var activeOnly = false
    /// `version_type=cv`: with versions in place of revisions.
    var namesVersions = false
    /// `revocations=true`: with what was in channels that the visitor has lost.
    var includesRevocations = false
    /// `filter=_doc_ids`; nil for all.
    var ids: [String]?

    /// The channels that count, each with the sequence of its grant; nil if there is nothing to filter.
    var grants: [String: Int]? {
        guard visitor.seesEverything else {
            return visitor.channels.filter { channels?.contains($0.key) ?? true }
        }
        guard let channels, !channels.contains(Visitor.everything) else { return nil }
        return Dictionary(uniqueKeysWithValues: channels.map { ($0, Store.guestSequence) })
    }

    /// The channels that count of those that were lost, each with the sequence of the loss.
    var losses: [String: Int] {
        guard includesRevocations, !activeOnly else { return [:] }
        return visitor.lostChannels.filter { channels?.contains($0.key) ?? true }
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
    /// The changes after `since`, one row per document: its newest.
    ///
    /// - Parameters:
    ///   - end: The last sequence to look at.
    ///   - limit: Most rows; nil for no limit.
    ///   - separator: Stands before each row but the first, in the feeds that are one JSON array.
    ///   - isFirst: Whether the page's first row is the answer's first.
    func changes(
        since: FeedPosition, through end: Int, limit: Int?, _ selection: ChangeSelection, separator: String,
        isFirst: Bool
    ) throws -> ChangesPage {
        try read { db in
            var page = ChangesPage(last: since, separator: separator, isFirst: isFirst)
            let grant = selection.visitor.channels[Visitor.everything] ?? Self.guestSequence
            let rows = try rows(since: Self.floor(since, grant), through: end, selection, db)
            var own = Self.ownPosition(selection, since: since, through: end)
            while page.hasRoom(limit), let row = try rows.next() {
                let sequence: Int = row[ChangeColumns.sequence]
                let position = FeedPosition(sequence, trigger: Self.isBackfill(sequence, grant) ? grant : nil)
                if let due = own, due < position {
                    page.append(visitor: selection.visitor)
                    own = nil
                    guard page.hasRoom(limit) else { break }
                }
                try page.append(row, position, selection, Self.branches(row, selection, db))
            }
            if own != nil, page.hasRoom(limit) { page.append(visitor: selection.visitor) }
            page.isLast = page.hasRoom(limit)
            return page
        }
    }

    /// Where the visitor's own row is due; nil if he has it.
    private static func ownPosition(
        _ selection: ChangeSelection, since: FeedPosition, through end: Int
    ) -> FeedPosition? {
        let own = FeedPosition(selection.visitor.sequence)
        return selection.ids == nil && own > since && own.sequence <= end ? own : nil
    }

    /// Whether a change was there before somebody could see it.
    static func isBackfill(_ sequence: Int, _ grant: Int) -> Bool { grant > guestSequence && sequence <= grant }

    /// What is at or below this sequence is not due for somebody who sees all since `grant`.
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

    /// The ends of the branches that did not win, the highest name first.
    static func branches(_ row: Row, _ selection: ChangeSelection, _ db: Database) throws -> [String] {
        guard selection.includesBranches, row[ChangeColumns.leaves] as Int > 1 else { return [] }
        let winner: String = row[ChangeColumns.revision]
        let leaves = try RevisionTree(of: row[ChangeColumns.document], db).leaves
        return leaves.reversed().map(\.id.description).filter { $0 != winner }
    }
}
