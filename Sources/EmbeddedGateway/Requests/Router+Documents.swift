internal import LosslessJSON

extension Router {
    /// `/DB/ID`.
    func document(_ request: Request, _ id: String) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return try await getDocument(request, id)
        case "PUT": return try await putDocument(request, id)
        case "DELETE": return try await deleteDocument(request, id)
        default: throw GatewayFault.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
    }

    private func getDocument(_ request: Request, _ id: String) async throws -> Answer {
        let query = request.query
        let document = try await stored(id, revision: query["rev"])
        let tag = HTTPField.revisionTag(document.revision)
        if let accept = request.field("Accept"), !accept.contains("application/json"), !accept.contains("*/*") {
            throw GatewayFault(406, "only application/json available", headers: [tag])
        }
        let history = query.flag("revs") ? try await store.history(of: document.revision, of: id) : nil
        let inlined = query.flag("attachments") ? try await store.inlinedAttachments(of: document) : nil
        return .json(document.text(attachments: inlined, history: history), fields: [tag])
    }

    /// The winning revision, or the one that is asked for.
    ///
    /// - Throws: ``GatewayFault`` 404: a tombstone is found only by its revision.
    func stored(_ id: String, revision: String?) async throws -> StoredDocument {
        if let revision {
            guard let document = try await store.revision(revision, of: id) else { throw GatewayFault.missing }
            return document
        }
        guard let document = try await store.winner(of: id) else { throw GatewayFault.missing }
        if document.isDeleted { throw GatewayFault.deleted }
        return document
    }

    private func putDocument(_ request: Request, _ id: String) async throws -> Answer {
        let object = try request.object()
        if let inside = object["_id"], inside.string != id {
            throw GatewayFault(
                400, "The document ID provided in the body does not match the document ID in the path")
        }
        var document = try IncomingDocument(object)
        if let revision = request.namedRevision { document.revision = revision }
        let replicates = request.query["new_edits"] == "false"
        let edit = try DocumentEdit(id: id, document, isNew: !replicates)
        let revision = try await store.write(edit)
        return Self.written(id, revision, status: 201)
    }

    /// `POST /DB/`: the gateway makes the id if the document has none.
    func postDocument(_ request: Request) async throws -> Answer {
        let document = try IncomingDocument(request.object())
        let id = document.id ?? DocumentID.make()
        let revision = try await store.write(DocumentEdit(id: id, document, isNew: true))
        var answer = Self.written(id, revision, status: 200)
        answer.fields.append(HTTPField("Location", DocumentID.inPath(id)))
        return answer
    }

    private func deleteDocument(_ request: Request, _ id: String) async throws -> Answer {
        let named = request.namedRevision
        if named == nil { _ = try await stored(id, revision: nil) }
        let edit = try DocumentEdit(id: id, .tombstone(of: named), isNew: true)
        return Self.written(id, try await store.write(edit), status: 200, tagged: false)
    }

    /// - Note: Source: recorded, `{"id":ID,"ok":true,"rev":REV}`; 3.x has no `cv`, and neither has this gateway.
    static func written(_ id: String, _ revision: RevisionID, status: Int, tagged: Bool = true) -> Answer {
        var body = JSONWriter()
        body.object { body in
            body.member("id", escaped: id)
            body.member("ok", bool: true)
            body.member("rev", escaped: revision.description)
        }
        return .json(body.bytes, status: status, fields: tagged ? [.revisionTag(revision.description)] : [])
    }
}

extension Request {
    /// The revision that the query or `If-Match` names. It goes before `_rev`.
    var namedRevision: String? {
        if let revision = query["rev"] { return revision }
        return field("If-Match").map { $0.filter { $0 != "\"" } }
    }
}

extension DocumentEdit {
    /// - Parameter isNew: Whether the gateway is to name the revision.
    /// - Throws: ``GatewayFault`` 400 for an id or a revision that can't be one.
    init(id: String, _ document: IncomingDocument, isNew: Bool) throws(GatewayFault) {
        guard DocumentID.isValid(id) else { throw .invalidDocumentID }
        let named = document.revision.flatMap { RevisionID($0) }
        if isNew, let text = document.revision, named == nil {
            throw GatewayFault(400, "Invalid version type for OCC value: \"\(text)\"")
        }
        self.id = id
        self.document = document
        guard !isNew else {
            kind = .newEdit
            return
        }
        guard let history = document.history ?? named.map({ [$0] }) else {
            throw GatewayFault(400, "Bad _revisions")
        }
        kind = .replicated(history)
    }
}

enum DocumentID {
    /// - Note: Source: recorded, 250 bytes pass and 251 do not.
    static func isValid(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 250 && !id.hasPrefix("_") && !id.utf8.contains(0)
    }

    /// 128 random bits.
    static func make() -> String { (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hex }

    /// Percent-encoded as one segment of a path.
    static func inPath(_ id: String) -> String {
        id.utf8.reduce(into: "") { text, byte in
            let scalar = Unicode.Scalar(byte)
            let plain = byte < 0x80 && (scalar.properties.isAlphabetic || (0x30...0x39).contains(byte))
            if plain || "-._~".utf8.contains(byte) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%" + [byte].hex.uppercased()
            }
        }
    }
}
