internal import Foundation
internal import GRDB
internal import LosslessJSON

/// Which changes a feed shows, and how.
struct ChangeSelection: Sendable {
    var includesDocuments = false
    /// `style=all_docs`: with the names of all branches.
    var includesBranches = false
    /// Without tombstones.
    var activeOnly = false
    /// `filter=_doc_ids`; nil for all.
    var ids: [String]?
}

/// Some rows of the changes feed, as text.
struct ChangesPage: Sendable {
    /// Each row ends with a line feed.
    var text: [UInt8] = []
    var count = 0
    /// Where the next page begins.
    var lastSequence: Int
    /// Whether there was nothing behind the last row when the page was read.
    var isLast = true
}

extension Store {
    /// Most rows, and about the most bytes, that are in memory at once.
    private static let pageRows = 1_000
    private static let pageBytes = 512 << 10

    /// The changes after `since`, one row per document: its newest.
    ///
    /// - Parameters:
    ///   - end: The last sequence to look at.
    ///   - limit: Most rows; nil for no limit.
    ///   - separator: Stands before each row but the first, in the feeds that are one JSON array.
    ///   - isFirst: Whether the page's first row is the answer's first.
    func changes(
        since: Int, through end: Int, limit: Int?, _ selection: ChangeSelection, separator: String, isFirst: Bool
    ) async throws -> ChangesPage {
        try await database.read { db in
            var page = ChangesPage(lastSequence: since)
            let most = min(limit ?? .max, Self.pageRows)
            let separator = Array(separator.utf8)
            if since < Self.guestSequence, selection.ids == nil, end >= Self.guestSequence {
                page.appendGuest()
            }
            let rows = try Self.rows(since: since, through: end, selection, db)
            while page.count < most, page.text.count < Self.pageBytes, let row = try rows.next() {
                if page.count > 0 || !isFirst { page.text += separator }
                let branches = selection.includesBranches ? try Self.branches(row, db) : []
                page.append(row, selection, branches)
            }
            page.isLast = page.count < most && page.text.count < Self.pageBytes
            return page
        }
    }

    private static func rows(
        since: Int, through end: Int, _ selection: ChangeSelection, _ db: Database
    ) throws -> RowCursor {
        let sql = """
            SELECT d.sequence, d.id, r.revision, r.deleted, d.key, d.leaves\
            \(selection.includesDocuments ? ", r.body, r.attachments" : "")
            FROM documents d JOIN revisions r ON r.key = d.winner
            WHERE d.sequence > ? AND d.sequence <= ?\(selection.activeOnly ? " AND r.deleted = 0" : "")\
            \(selection.ids == nil ? "" : " AND d.id IN (SELECT value FROM json_each(?))")
            ORDER BY d.sequence
            """
        var arguments: StatementArguments = [since, end]
        if let ids = selection.ids {
            var list = JSONWriter()
            list.array { list in for id in ids { list.string(id) } }
            arguments += [String(decoding: list.bytes, as: UTF8.self)]
        }
        return try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The ends of the branches that did not win, the highest name first.
    private static func branches(_ row: Row, _ db: Database) throws -> [String] {
        guard row[5] as Int > 1 else { return [] }
        let winner: String = row[2]
        return try RevisionTree(of: row[4], db).leaves.reversed().map(\.id.description).filter { $0 != winner }
    }
}

extension ChangesPage {
    /// - Note: Source: recorded, `{"seq":1,"id":"_user/GUEST","changes":[]}`, also where documents are included.
    fileprivate mutating func appendGuest() {
        text += #"{"seq":\#(Store.guestSequence),"id":"_user/GUEST","changes":[]}"#.utf8
        text.append(UInt8(ascii: "\n"))
        count += 1
        lastSequence = Store.guestSequence
    }

    /// - Note: Source: recorded, `{"seq":5,"id":"…","deleted":true,"doc":{…},"changes":[{"rev":"…"}]}`.
    fileprivate mutating func append(_ row: Row, _ selection: ChangeSelection, _ branches: [String]) {
        let sequence: Int = row[0]
        let id = JSONWriter.escaped(row[1])
        let revision = JSONWriter.escaped(row[2])
        let isDeleted: Bool = row[3]
        text += #"{"seq":"#.utf8
        text += String(sequence).utf8
        text += #","id":"#.utf8
        text += id
        if isDeleted { text += #","deleted":true"#.utf8 }
        if selection.includesDocuments {
            text += #","doc":"#.utf8
            FeedDocument.append(row, at: 6, id: id, revision: revision, isDeleted: isDeleted, to: &text)
        }
        text += #","changes":[{"rev":"#.utf8
        text += revision
        for branch in branches {
            text += #"},{"rev":"#.utf8
            text += JSONWriter.escaped(branch)
        }
        text += "}]}\n".utf8
        count += 1
        lastSequence = sequence
    }
}

extension FeedDocument {
    /// Appends the body in the column `at`, and the attachments in the next one, without copies in between.
    static func append(
        _ row: Row, at column: Int, id: [UInt8], revision: [UInt8], isDeleted: Bool, to line: inout [UInt8]
    ) {
        row.withBytes(at: column) { body in
            row.withBytes(at: column + 1) { attachments in
                append(
                    id: id, revision: revision, isDeleted: isDeleted,
                    body: body ?? UnsafeRawBufferPointer(start: nil, count: 0), attachments: attachments, to: &line)
            }
        }
    }
}

extension Row {
    /// Calls `body` with a blob where it lies in SQLite's memory; nil for NULL.
    fileprivate func withBytes(at column: Int, _ body: (UnsafeRawBufferPointer?) -> Void) {
        try? withUnsafeData(atIndex: column) { data in
            guard let data else { return body(nil) }
            data.withUnsafeBytes { body($0) }
        }
    }
}

extension JSONWriter {
    /// A string as an id stands in a row.
    static func escaped(_ value: String) -> [UInt8] {
        var text = JSONWriter()
        text.escapedString(value)
        return text.bytes
    }
}
