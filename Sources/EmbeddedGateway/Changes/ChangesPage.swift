internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON

/// The SQL columns that a row of the changes feed is made from.
enum ChangeColumns {
    static let sequence = 0
    static let id = 1
    static let revision = 2
    static let isDeleted = 3
    static let document = 4
    static let leaves = 5
    static let version = 6
    static let body = 7

    /// For a query on `documents d` and `revisions r`.
    static func sql(_ selection: ChangeSelection) -> String {
        "d.sequence, d.id, r.revision, r.deleted, d.key, d.leaves, r.version"
            + (selection.includesDocuments ? ", r.body, r.attachments" : "")
    }
}

/// A page of rows of the changes feed, as text.
struct ChangesPage: Sendable {
    /// Each row ends with a line feed.
    var text: [UInt8] = []
    var count = 0
    /// The beginning of the next page.
    var last: FeedPosition
    /// Whether there were no more rows when the page was read.
    var isLast = true
    private let separator: [UInt8]
    private var isFirst: Bool

    /// The maximum number of rows, and the approximate most bytes, in memory at once.
    private static let maximumRows = 1_000
    static let maximumBytes = 128 << 10

    init(last: FeedPosition, separator: String, isFirst: Bool) {
        self.last = last
        self.separator = Array(separator.utf8)
        self.isFirst = isFirst
    }

    func hasRoom(_ limit: Int?) -> Bool {
        count < min(limit ?? .max, Self.maximumRows) && text.count < Self.maximumBytes
    }

    /// - Note: Source: recorded, `{"seq":1,"id":"_user/GUEST","changes":[]}`, also where documents are included.
    mutating func append(requestUser: RequestUser) {
        begin(FeedPosition(requestUser.sequence), JSONWriter.escaped(requestUser.feedID))
        text += #","changes":[]}"#.utf8
        text.append(UInt8(ascii: "\n"))
    }

    /// - Note: Source: recorded, `{"seq":5,"id":"…","deleted":true,"doc":{…},"changes":[{"rev":"…"}]}`.
    ///
    /// - Parameter removed: The channels that the document left with this change.
    mutating func append(
        _ row: Row, _ position: FeedPosition, _ selection: ChangeSelection, _ branches: [String],
        removed: [String] = []
    ) {
        let id = JSONWriter.escaped(row[ChangeColumns.id])
        let revision = JSONWriter.escaped(row[ChangeColumns.revision])
        let isDeleted: Bool = row[ChangeColumns.isDeleted]
        let version: String? = row[ChangeColumns.version]
        begin(position, id)
        if isDeleted { text += #","deleted":true"#.utf8 }
        appendRemoved(from: removed)
        if selection.includesDocuments {
            text += #","doc":"#.utf8
            FeedDocument.append(
                row, at: ChangeColumns.body, id: id, revision: revision, version: version, isDeleted: isDeleted,
                to: &text)
        }
        guard selection.namesVersions, let version else { return end(revision, branches) }
        text += #","changes":[{"cv":""#.utf8
        text += version.utf8
        text += "\"}]}\n".utf8
    }

    /// A row for a document that has left channels.
    ///
    /// - Parameter row: The revision with which it left them. Nil if it must not be shown.
    /// - Note: Source: recorded,
    ///   `{"seq":20,"id":"…","removed":["A"],"doc":{"_removed":true,…},"changes":[{"rev":"…"}]}`.
    mutating func append(_ removal: Removal, _ position: FeedPosition, _ selection: ChangeSelection, _ row: Row?) {
        guard let row else {
            return append(removal, position, includesDocument: selection.includesDocuments, isRevoked: false)
        }
        let id = JSONWriter.escaped(removal.id)
        let revision = JSONWriter.escaped(removal.revision)
        begin(position, id)
        appendRemoved(from: removal.channels)
        text += #","doc":"#.utf8
        FeedDocument.append(
            row, at: 2, id: id, revision: revision, version: row[1], isDeleted: false, to: &text)
        end(revision, [])
    }

    private mutating func appendRemoved(from channels: [String]) {
        guard let list = DocumentChannels.write(channels.sorted()) else { return }
        text += #","removed":"#.utf8
        text += list
    }

    /// A row for a document that has left channels and can't be read, or to which the user has lost access.
    ///
    /// - Parameter isRevoked: Whether the user has lost access. The row then names no channels.
    /// - Note: Source: recorded,
    ///   `{"seq":20,"id":"…","removed":["A"],"doc":{"_removed":true,…},"changes":[{"rev":"…"}]}` and
    ///   `{"seq":"38:12","id":"…","doc":{"_removed":true,…},"changes":[{"rev":"…"}],"revoked":true}`.
    mutating func append(_ removal: Removal, _ position: FeedPosition, includesDocument: Bool, isRevoked: Bool) {
        let id = JSONWriter.escaped(removal.id)
        let revision = JSONWriter.escaped(removal.revision)
        begin(position, id)
        if removal.isDeleted { text += #","deleted":true"#.utf8 }
        appendRemoved(from: removal.channels)
        if includesDocument { appendRemoved(id, revision, isDeleted: removal.isDeleted) }
        end(revision, [])
        guard isRevoked else { return }
        text.removeLast("}\n".utf8.count)
        text += ",\"revoked\":true}\n".utf8
    }

    private mutating func appendRemoved(_ id: [UInt8], _ revision: [UInt8], isDeleted: Bool) {
        text += (isDeleted ? #","doc":{"_id":"# : #","doc":{"_removed":true,"_id":"#).utf8
        text += id
        text += #","_rev":"#.utf8
        text += revision
        text += (isDeleted ? #","_deleted":true}"# : "}").utf8
    }

    private mutating func begin(_ position: FeedPosition, _ id: [UInt8]) {
        if !isFirst { text += separator }
        isFirst = false
        text += #"{"seq":"#.utf8
        text += position.json.utf8
        text += #","id":"#.utf8
        text += id
        count += 1
        last = position
    }

    private mutating func end(_ revision: [UInt8], _ branches: [String]) {
        text += #","changes":[{"rev":"#.utf8
        text += revision
        for branch in branches {
            text += #"},{"rev":"#.utf8
            text += JSONWriter.escaped(branch)
        }
        text += "}]}\n".utf8
    }
}

extension FeedDocument {
    /// Appends the body from column `at` and the attachments from the next one, without intermediate copies.
    static func append(
        _ row: Row, at column: Int, id: [UInt8], revision: [UInt8], version: String?, isDeleted: Bool,
        to line: inout [UInt8]
    ) {
        row.withBytes(at: column) { body in
            row.withBytes(at: column + 1) { attachments in
                append(
                    id: id, revision: revision, version: version, isDeleted: isDeleted,
                    body: body ?? UnsafeRawBufferPointer(start: nil, count: 0), attachments: attachments, to: &line)
            }
        }
    }
}

extension Row {
    /// Calls `body` with a blob in SQLite's memory. Nil for NULL.
    fileprivate func withBytes(at column: Int, _ body: (UnsafeRawBufferPointer?) -> Void) {
        try? withUnsafeData(atIndex: column) { data in
            guard let data else { return body(nil) }
            data.withUnsafeBytes { body($0) }
        }
    }
}

extension JSONWriter {
    /// A string, spelled like the ids in rows.
    static func escaped(_ value: String) -> [UInt8] {
        var text = JSONWriter()
        text.escapedString(value)
        return text.bytes
    }
}
