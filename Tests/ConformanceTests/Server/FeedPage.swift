import Locking
import LosslessJSON

/// One answer of `_changes`, or what a continuous feed brought.
struct FeedPage: Sendable {
    /// Those of other cases too, where the database is shared.
    let rows: [FeedRow]
    /// `last_seq`, as `since` takes it; nil if there is none.
    let last: String?

    /// An answer that is one object.
    init(_ reply: Reply) throws {
        guard let results = reply["results"], results.kind == .array else { throw Unexpected(reply) }
        rows = results.elements.map(FeedRow.init)
        last = reply["last_seq"]?.sequence
    }

    /// An answer of one object a line.
    init(lines: [UInt8]) {
        let objects = lines.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONText(Array($0)).root }
        rows = objects.filter { $0["id"] != nil }.map(FeedRow.init)
        last = objects.last?["last_seq"]?.sequence
    }

    /// The rows of the case's own documents.
    func own(_ workspace: Workspace) -> [FeedRow] { rows.filter { workspace.isOwn($0.id) } }

    /// The one row of a document; nil if there is none or more than one.
    func row(_ id: String) -> FeedRow? {
        let found = rows.filter { $0.id == id }
        return found.count == 1 ? found[0] : nil
    }
}

struct FeedRow: Sendable {
    let id: String
    /// As `since` takes it.
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

    /// Whether the page has a revision of this generation or of a later one. True if it names none.
    func isAsNew(as generation: Int) -> Bool {
        revisions.isEmpty || revisions.contains { $0.generation >= generation }
    }
}

extension String {
    /// Of a revision.
    var generation: Int { Int(prefix { $0 != "-" }) ?? 0 }
}

extension JSONValue {
    fileprivate var sequence: String { string ?? spelling }
}

extension Workspace {
    /// The feed from `since`, else from where it stood when the case began.
    func changes(_ query: String = "", since: String? = nil) async throws -> FeedPage {
        try FeedPage(try await send("GET", changesPath(query, since: since)))
    }

    /// The same, asked for until these documents are in it as the case wrote them last: Sync Gateway's feed may be a
    /// moment behind its writes.
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
