internal import Compression
internal import FoundationEssentials
internal import GRDB
internal import LosslessJSON

/// What a client requested in addition to the body.
struct DocumentOptions: Sendable {
    /// The maximum number of ids in `_revisions`. 0 for no `_revisions`.
    var historyLimit = 0
    /// The history ends at the first of these that it contains, regardless of the limit.
    var historyFrom: [String] = []
    /// Includes attachments added after the newest of these revisions. Nil for stubs only.
    var attachmentsSince: [String]?
    /// In CouchDB's form: without `_cv`, and with decompressed attachments.
    var isForCouchDB = false
}

extension Store {
    /// The newest revision of each branch, the lowest id first. Nil if the document never existed.
    func leaves(of id: String) throws -> [String]? {
        try tree(of: id)?.leaves.map(\.id.description)
    }

    func tree(of id: String) throws -> RevisionTree? {
        try read { db in
            let statement = try db.cachedStatement(
                sql: "SELECT key FROM documents WHERE collection = \(collection) AND id = ?")
            return try Int64.fetchOne(statement, arguments: [id]).map { try RevisionTree(of: $0, db) }
        }
    }

    /// Loads what the options request.
    ///
    /// - Throws: ``RequestError`` 404 if a requested attachment's content is missing.
    func outgoing(_ document: StoredDocument, _ options: DocumentOptions) throws -> OutgoingDocument {
        var result = OutgoingDocument(document: options.isForCouchDB ? document.withoutVersion : document)
        let needsHistory = options.historyLimit > 0 || options.attachmentsSince?.isEmpty == false
        let history = needsHistory ? try history(of: document.revision, of: document.id) : []
        if options.historyLimit > 0 { result.history = Self.cut(history, options) }
        if let since = options.attachmentsSince {
            let known = history.first { since.contains($0.description) }
            result.attachments = try contents(of: document, from: (known?.generation ?? 0) + 1)
            if options.isForCouchDB { result.attachments = try result.attachments?.map(decompressed) }
        }
        return result
    }

    /// CouchDB stores the bytes of `data` unchanged, regardless of `encoding`.
    private func decompressed(_ attachment: OutgoingAttachment) throws -> OutgoingAttachment {
        guard attachment.entry["encoding"]?.string == "gzip", let content = attachment.content else {
            return attachment
        }
        let bytes: [UInt8]
        switch content {
        case .loaded(let loaded): bytes = loaded
        case .stored(let stored):
            guard let read = try attachmentContent(stored.digest, 0..<stored.length) else { throw RequestError.missing }
            bytes = read
        }
        do { return attachment.replacing(try Gzip.decompress(bytes, limit: Router.bodyLimit)) } catch {
            throw RequestError(decompressing: error)
        }
    }

    private static func cut(_ history: [StoredRevisionID], _ options: DocumentOptions) -> [StoredRevisionID] {
        if let end = history.firstIndex(where: { options.historyFrom.contains($0.description) }) {
            return Array(history[...end])
        }
        return Array(history.prefix(options.historyLimit))
    }

    /// The attachments of a document, with contents if their `revpos` is at least `generation`.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1: a stub whose content is missing stays a stub if it has no
    ///   `revpos`; otherwise the answer is 404.
    private func contents(of document: StoredDocument, from generation: Int) throws -> [OutgoingAttachment]? {
        guard let entries = try document.attachments.map({ try JSONText($0).root }) else { return nil }
        let digest = { (entry: JSONValue) -> String? in
            guard let revpos = entry["revpos"]?.integer, revpos >= generation else { return nil }
            return entry["digest"]?.string
        }
        let contents = try attachmentContents(entries.members.compactMap { digest($0.value) }, of: document.id)
        return try entries.members.compactMap { member in
            guard let name = member.name.string else { return nil }
            let wanted = digest(member.value)
            if let wanted, contents[wanted] == nil { throw RequestError.missing }
            return OutgoingAttachment(name: name, entry: member.value, content: wanted.flatMap { contents[$0] })
        }
    }
}
