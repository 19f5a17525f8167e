import Locking
import LosslessJSON

/// One answer of `_changes`, or the lines of a continuous feed.
struct FeedPage: Sendable {
    /// Includes rows of other cases if the database is shared.
    let rows: [FeedRow]
    /// `last_seq`, in the form for `since`; nil if there is none.
    let last: String?

    /// Reads an answer that is one object.
    init(_ reply: Reply) throws {
        guard let results = reply["results"], results.kind == .array else { throw Unexpected(reply) }
        rows = results.elements.map(FeedRow.init)
        last = reply["last_seq"]?.sequence
    }

    /// Reads an answer with one object per line.
    init(lines: [UInt8]) {
        let objects = lines.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONText(Array($0)).root }
        rows = objects.filter { $0["id"] != nil }.map(FeedRow.init)
        last = objects.last?["last_seq"]?.sequence
    }

    /// The rows of the case's own documents.
    func own(_ workspace: Workspace) -> [FeedRow] { rows.filter { workspace.isOwn($0.id) } }

    /// The only row of a document; nil if there is none or more than one.
    func row(_ id: String) -> FeedRow? {
        let found = rows.filter { $0.id == id }
        return found.count == 1 ? found[0] : nil
    }
}

struct FeedRow: Sendable {
    let id: String
    /// In the form for `since`.
    let sequence: String
    let revisions: [String]
    let isDeleted: Bool
    let document: JSONValue?

    init(_ row: JSONValue) {
        id = row["id"]?.string ?? ""
        sequence = row["seq"]?.sequence ?? ""
        revisions = row["changes"]?.elements.compactMap { $0["rev"]?.string } ?? []
        isDeleted = row["deleted"]?.bool == true
        document = row["doc"]
    }

    /// Whether the page has this generation of the document, or a later one. True if the row names no revision.
    func isAsNew(as generation: Int) -> Bool {
        revisions.isEmpty || revisions.contains { $0.generation >= generation }
    }
}

extension String {
    /// The generation of a revision.
    var generation: Int { Int(prefix { $0 != "-" }) ?? 0 }
}

extension JSONValue {
    fileprivate var sequence: String { string ?? spelling }
}

extension Workspace {
    /// The feed from `since`, or else from the start of the case.
    func changes(_ query: String = "", since: String? = nil) async throws -> FeedPage {
        try FeedPage(try await send("GET", changesPath(query, since: since)))
    }

    /// Requests the feed until it has the last writes of these documents by the case: Sync Gateway's feed may lag
    /// behind writes.
    func changes(_ query: String = "", since: String? = nil, until ids: [String]) async throws -> FeedPage {
        let reply = try await ask("GET", changesPath(query, since: since)) { reply in
            guard let page = try? FeedPage(reply) else { return false }
            return ids.allSatisfy { id in
                page.rows.contains { $0.id == id && $0.isAsNew(as: created.withLock { $0.generations[id] } ?? 0) }
            }
        }
        return try FeedPage(reply)
    }

    func changesPath(_ query: String = "", since: String? = nil) -> String {
        "/_changes?since=\((since ?? start).percentEncoded)" + (query.isEmpty ? "" : "&\(query)")
    }
}
