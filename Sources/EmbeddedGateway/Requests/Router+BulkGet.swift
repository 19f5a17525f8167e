internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `POST /DB/_bulk_get`: one part per document. Generated while it is sent, so that one document is in memory at a
    /// time.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1, which has no JSON form of the answer. Clients made for CouchDB get
    ///   one.
    func bulkGet(_ request: Request) async throws -> Answer {
        let (_, requestedDocuments) = try request.documents()
        if request.query.flag("latest"), !request.accepts("multipart/") {
            return bulkGetRows(request, requestedDocuments)
        }
        guard request.accepts("multipart/") else { throw RequestError(406, "Response is multipart") }
        let query = request.query
        let compressesParts = request.field("X-Accept-Part-Encoding")?.contains("gzip") == true
        let parts = MultipartWriter(compressesJSON: compressesParts)
        let kept = BufferedBytes()
        return Answer(
            status: 200, fields: [parts.contentType("mixed")],
            body: .streamed { send in
                var parts = parts
                for requested in requestedDocuments.elements {
                    try add(requested, query, to: &parts)
                    try await BodyPieces(parts.take(), from: store).send(send, counting: kept)
                }
                parts.close()
                try await BodyPieces(parts.take(), from: store).send(send, counting: kept)
            }, kept: kept)
    }

    /// `{"results":[{"id":ID,"docs":[{"ok":DOCUMENT}]},…]}`
    ///
    /// - Note: Source: CouchDB 3.5, `bulk_get` in `couch_replicator_api_wrap.erl`.
    private func bulkGetRows(_ request: Request, _ requestedDocuments: JSONValue) -> Answer {
        let query = request.query
        let kept = BufferedBytes()
        return Answer(
            status: 200, fields: [.json],
            body: .streamed { send in
                var opening = #"{"results":["#
                for requested in requestedDocuments.elements {
                    var row = BodyParts()
                    row.append(opening + #"{"id":"# + Self.quoted(requested["id"]?.string ?? "") + #","docs":["#)
                    switch try outcome(of: requested, query) {
                    case .success(let document):
                        row.append(#"{"ok":"#)
                        row.append(document.text)
                    case .failure(let refusal):
                        row.append(#"{"error":"#)
                        row.append(refusal.row)
                    }
                    row.append("}]}")
                    try await BodyPieces(row, from: store).send(send, counting: kept)
                    opening = ",\n"
                }
                try await send(Array((opening == ",\n" ? "]}" : opening + "]}").utf8))
            }, kept: kept)
    }

    private static func quoted(_ text: String) -> String {
        var quoted = JSONWriter()
        quoted.escapedString(text)
        return String(decoding: quoted.bytes, as: UTF8.self)
    }

    private func add(_ requested: JSONValue, _ query: Query, to parts: inout MultipartWriter) throws {
        switch try outcome(of: requested, query) {
        case .success(let document): document.write(to: &parts)
        case .failure(let refusal): parts.error(refusal.row)
        }
    }

    /// Why a document is not in the answer, as JSON.
    private struct Refusal: Error {
        let row: [UInt8]
    }

    private func outcome(of requested: JSONValue, _ query: Query) throws -> Result<OutgoingDocument, Refusal> {
        let id = requested["id"]?.string ?? ""
        let revision = requested["rev"].flatMap { $0.kind == .null ? nil : $0 }
        do {
            guard StoredDocumentID.isValid(id), revision == nil || revision?.kind == .string else {
                throw RequestError(400, "Invalid doc/rev ID in _bulk_get")
            }
            let options = try DocumentOptions(query, requested)
            let document = try stored(id, revision: revision?.string.flatMap { $0.isEmpty ? nil : $0 })
            return .success(try store.outgoing(document, options))
        } catch let error as RequestError {
            return .failure(Refusal(row: Self.row(id, revision: revision?.string, error)))
        }
    }

    private static func row(_ id: String, revision: String?, _ error: RequestError) -> [UInt8] {
        var row = JSONWriter()
        row.object { row in
            row.member("error", string: error.rowName)
            row.member("id", escaped: id)
            row.member("reason", escaped: error.reason)
            if let revision { row.member("rev", escaped: revision) }
            row.member("status", integer: error.status)
        }
        return row.bytes
    }
}

extension DocumentOptions {
    /// The options of one entry of `docs`, which override those of the query.
    fileprivate init(_ query: Query, _ requested: JSONValue) throws(RequestError) {
        try self.init(query)
        let known = requested["atts_since"]?.elements.compactMap(\.string)
        if historyLimit > 0 {
            if let limit = requested["revs_limit"]?.integer { historyLimit = max(0, limit) }
            historyFrom = requested["revs_from"]?.elements.compactMap(\.string) ?? known ?? []
        }
        if attachmentsSince != nil { attachmentsSince = known ?? [] }
    }
}
