internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON

/// The selection of `_all_docs`.
struct DocumentRange: Sendable {
    /// The first id, included.
    var start: String?
    /// The last id, included.
    var end: String?
    var includesDocuments = false
    /// `channels=true`: adds the channels of each document.
    var includesChannels = false
    /// `update_seq=true`: adds the sequence of each document.
    var includesSequences = false
    /// The user who makes the request.
    var requestUser = RequestUser.unrestricted
}

/// A page of rows of `_all_docs`, as text.
struct DocumentsPage: Sendable {
    var text: [UInt8] = []
    var count = 0
    /// The last id on the page.
    var lastID: String?
    var isLast = true
}

extension Store {
    /// Documents that are not deleted, in order of the bytes of their ids.
    ///
    /// - Parameters:
    ///   - after: The last id of the previous page. Nil for the first page.
    ///   - limit: The maximum number of rows. Nil for no limit.
    func documents(
        _ range: DocumentRange, after: String?, limit: Int?
    ) throws -> DocumentsPage {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT \(Self.listColumns) FROM documents d JOIN revisions r ON r.key = d.winner
                    WHERE d.collection = \(collection) AND r.deleted = 0
                        AND d.id \(after == nil ? ">=" : ">") ?\(range.end == nil ? "" : " AND d.id <= ?")
                    ORDER BY d.id
                    """)
            var arguments: StatementArguments = [after ?? range.start ?? ""]
            if let end = range.end { arguments += [end] }
            let rows = try Row.fetchCursor(statement, arguments: arguments)
            var page = DocumentsPage()
            let most = min(limit ?? .max, 1_000)
            while page.count < most, page.text.count < ChangesPage.maximumBytes, let row = try rows.next() {
                page.lastID = row[0]
                let channels = DocumentChannels.read(stored: (row[4] as Data?).map { Array($0) })
                guard range.requestUser.sees(channels) else { continue }
                page.append(row, channels, range, isFirst: after == nil && page.count == 0)
            }
            page.isLast = page.count < most && page.text.count < ChangesPage.maximumBytes
            return page
        }
    }

    /// The documents with these ids, in this order, as many as fit on a page. Missing documents get an error row.
    func documents(
        _ ids: ArraySlice<String>, _ range: DocumentRange, isFirst: Bool
    ) throws -> DocumentsPage {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT \(Self.listColumns) FROM documents d JOIN revisions r ON r.key = d.winner
                    WHERE d.collection = \(collection) AND d.id = ? AND r.deleted = 0
                    """)
            var page = DocumentsPage()
            for id in ids {
                guard page.text.count < ChangesPage.maximumBytes else { break }
                let isFirst = isFirst && page.count == 0
                let rows = try Row.fetchCursor(statement, arguments: [id])
                guard let row = try rows.next() else {
                    page.append(id, .missing, isFirst: isFirst)
                    continue
                }
                let channels = DocumentChannels.read(stored: (row[4] as Data?).map { Array($0) })
                if range.requestUser.sees(channels) {
                    page.append(row, channels, range, isFirst: isFirst)
                } else {
                    page.append(id, RequestError(403, "forbidden"), isFirst: isFirst)
                }
            }
            return page
        }
    }

    private static let listColumns = "d.id, r.revision, r.body, r.attachments, r.channels, d.sequence, r.version"
}

/// - Note: Source: recorded, `{"key":ID,"id":ID,"value":{"rev":REV,"cv":VERSION}}`, with documents
///   `{"key":ID,"id":ID,"value":{"rev":REV},"doc":{…}}`, and `{"key":ID,"error":"not_found","status":404}`.
extension DocumentsPage {
    fileprivate mutating func append(_ row: Row, _ channels: [String], _ range: DocumentRange, isFirst: Bool) {
        let id = JSONWriter.escaped(row[0])
        let revision = JSONWriter.escaped(row[1])
        text += (isFirst ? #"{"key":"# : #",{"key":"#).utf8
        text += id
        text += #","id":"#.utf8
        text += id
        text += #","value":{"rev":"#.utf8
        text += revision
        if range.includesChannels {
            text += #","channels":"#.utf8
            text += DocumentChannels.write(channels.filter { range.requestUser.sees([$0]) }) ?? Array("[]".utf8)
        }
        // With documents included, Sync Gateway omits the versions.
        if !range.includesDocuments, let version = row[6] as String? {
            text += #","cv":""#.utf8
            text += version.utf8
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        if range.includesSequences { text += #","update_seq":\#(row[5] as Int)"#.utf8 }
        if range.includesDocuments {
            text += #","doc":"#.utf8
            FeedDocument.append(
                row, at: 2, id: id, revision: revision, version: nil, isDeleted: false, to: &text)
        }
        text += "}\n".utf8
        count += 1
        lastID = row[0]
    }

    fileprivate mutating func append(_ id: String, _ error: RequestError, isFirst: Bool) {
        text += (isFirst ? #"{"key":"# : #",{"key":"#).utf8
        text += JSONWriter.escaped(id)
        text += #","error":"\#(error.rowName)","status":\#(error.status)}"#.utf8
        text.append(UInt8(ascii: "\n"))
        count += 1
        lastID = id
    }
}
