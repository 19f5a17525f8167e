internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `GET /DB/ID?open_revs=all|["1-a","2-b"]`: several revisions with their attachments.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func openRevisions(_ request: Request, _ id: String, _ revisions: String) async throws -> Answer {
        var options = try DocumentOptions(request.query)
        options.attachmentsSince = []
        let requestedDocuments = OpenRevisions(
            router: self, id: id, options: options, names: try names(revisions, of: id)[...],
            parts: request.accepts("multipart/") ? MultipartWriter() : nil)
        return try requestedDocuments.answer()
    }

    private func names(_ revisions: String, of id: String) throws -> [String] {
        if revisions == "all" {
            guard let leaves = try store.leaves(of: id) else { throw RequestError.missing }
            return leaves
        }
        guard let list = try? JSONText(revisions).root, list.kind == .array,
            list.elements.allSatisfy({ $0.kind == .string })
        else { throw RequestError(400, "bad open_revs") }
        return list.elements.compactMap(\.string)
    }
}

extension DocumentOptions {
    /// - Throws: ``RequestError`` 400 if a parameter is not a JSON list.
    init(_ query: Query) throws(RequestError) {
        let known = try Self.list(query, "atts_since")
        if query.flag("revs") {
            historyLimit = query["revs_limit"].flatMap { Int($0) }.map { max(0, $0) } ?? .max
            historyFrom = try Self.list(query, "revs_from") ?? known ?? []
        }
        if query.flag("attachments") { attachmentsSince = known ?? [] }
        // Only CouchDB has this parameter. Its replicator and PouchDB send it, and both refuse documents with unknown
        // members that begin with an underscore, such as `_cv`.
        isForCouchDB = query.flag("latest")
    }

    private static func list(_ query: Query, _ name: String) throws(RequestError) -> [String]? {
        guard let text = query[name] else { return nil }
        guard let list = try? JSONText(text).root, list.kind == .array else {
            throw RequestError(400, "\(name) URL param is not a JSON string array")
        }
        return list.elements.compactMap(\.string)
    }
}
