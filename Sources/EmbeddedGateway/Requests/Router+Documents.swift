internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/ID`.
    func document(_ request: Request, _ id: String) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return try await getDocument(request, id)
        case "PUT": return try await putDocument(request, id)
        case "DELETE": return try await deleteDocument(request, id)
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
    }

    private func getDocument(_ request: Request, _ id: String) async throws -> Answer {
        let query = request.query
        if let revisions = query["open_revs"], !revisions.isEmpty {
            guard query["rev"] == nil else {
                throw RequestError(400, "cannot specify both 'rev' and 'open_revs' query parameters")
            }
            return try await openRevisions(request, id, revisions)
        }
        let options = try DocumentOptions(query)
        var document = try stored(id, revision: query["rev"])
        if query.flag("show_exp") { document.expires = try store.expiry(of: id) }
        let outgoing = try store.outgoing(document, options)
        let tag = HTTPField.revisionTag(document.revision)
        let takesJSON = request.accepts("application/json")
        if request.accepts("multipart/"), outgoing.attachments != nil || !takesJSON {
            let (type, body) = outgoing.multipart()
            return try Answer(fields: [type, tag], body, from: store)
        }
        guard takesJSON else { throw RequestError(406, "only application/json available", headers: [tag]) }
        return try Answer(fields: [.json, tag], outgoing.text, from: store)
    }

    /// The winning revision, or the requested one.
    ///
    /// - Throws: ``RequestError`` 404, also for a tombstone unless its revision is given; 403 if the user may not read
    ///   the document.
    func stored(_ id: String, revision: String?) throws -> StoredDocument {
        if let revision {
            guard let document = try store.revision(revision, of: id) else { throw RequestError.missing }
            return requestUser.sees(document.channels) ? document : document.redacted
        }
        guard let document = try store.winner(of: id) else { throw RequestError.missing }
        guard requestUser.sees(document.channels) else { throw RequestError(403, "forbidden") }
        if document.isDeleted { throw RequestError.deleted }
        return document
    }

    private func putDocument(_ request: Request, _ id: String) async throws -> Answer {
        let (object, following) = try request.document()
        if let inside = object["_id"]?.string, inside != id {
            throw RequestError(
                400, "The document ID provided in the body does not match the document ID in the path")
        }
        let isNew = request.query["new_edits"] != "false"
        let named = isNew ? request.namedRevision : nil
        if isNew { try Self.checkNames(in: object, named) }
        var document = try IncomingDocument(object, isNew: isNew, following: following)
        if let named { document.revision = named }
        let edit = try DocumentEdit(id: id, document, isNew: isNew)
        return Self.written(id, try await store.write(edit, as: requestUser), status: 201, tagged: isNew)
    }

    /// Checks how a document names the revision that it replaces.
    ///
    /// - Parameter named: The revision in the query or header.
    /// - Note: Source: tried on Sync Gateway 4.1.1. `_bulk_docs` ignores members of a wrong type.
    private static func checkNames(in object: JSONValue, _ named: String?) throws(RequestError) {
        if let named {
            guard let text = object["_rev"]?.string, !text.isEmpty, text != named, StoredRevisionID(named) != nil else {
                return
            }
            throw RequestError(400, "Revision IDs provided do not match")
        }
        let version = object["_cv"]
        guard version?.string?.isEmpty ?? true, let name = version ?? object["_rev"], name.string == nil else { return }
        throw RequestError(400, "Invalid version type for OCC value: \"\"")
    }

    /// `POST /DB/`: the gateway generates the id if the document has none.
    func postDocument(_ request: Request) async throws -> Answer {
        let (object, following) = try request.document()
        guard ["_rev", "_cv"].allSatisfy({ object[$0].map { $0.kind == .null } ?? true }) else {
            throw RequestError(404, "No previous revision to replace")
        }
        let document = try IncomingDocument(object, following: following)
        let id = document.id ?? StoredDocumentID.make()
        let revision = try await store.write(DocumentEdit(id: id, document, isNew: true), as: requestUser)
        var answer = Self.written(id, revision, status: 200)
        answer.fields.append(HTTPField("Location", StoredDocumentID.inPath(id)))
        return answer
    }

    private func deleteDocument(_ request: Request, _ id: String) async throws -> Answer {
        let named = request.namedRevision
        let edit = try DocumentEdit(id: id, .tombstone(of: named), isNew: true)
        return Self.written(id, try await store.write(edit, as: requestUser), status: 200, tagged: false)
    }

    /// - Note: Source: recorded, `{"id":ID,"ok":true,"rev":REV,"cv":VERSION}`.
    static func written(_ id: String, _ written: WrittenRevision, status: Int, tagged: Bool = true) -> Answer {
        let revision = written.id.description
        var body = JSONWriter()
        body.object { body in
            body.member("id", escaped: id)
            body.member("ok", bool: true)
            body.member("rev", escaped: revision)
            if let version = written.version { body.member("cv", string: version) }
        }
        return .json(body.bytes, status: status, fields: tagged ? [.revisionTag(revision)] : [])
    }
}

extension Request {
    /// The revision in the query or in `If-Match`, which take precedence over `_rev`.
    var namedRevision: String? {
        if let revision = query["rev"], !revision.isEmpty { return revision }
        return field("If-Match").map { $0.filter { $0 != "\"" } }
    }

    /// Whether the client accepts this type.
    ///
    /// - Note: Source: Sync Gateway's `requestAccepts`: it searches for the text and ignores quality values.
    func accepts(_ type: String) -> Bool {
        guard let accept = field("Accept"), !accept.isEmpty else { return true }
        return accept.contains(type) || accept.contains("*/*")
    }
}
