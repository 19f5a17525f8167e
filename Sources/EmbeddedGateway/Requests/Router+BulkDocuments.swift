internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `POST /DB/_bulk_docs`: one transaction, and one row per document in the same order. `_local` documents come
    /// last, each in a separate transaction.
    ///
    /// - Note: Source: recorded, Sync Gateway 3.3.7 and 4.1.1; its `handleBulkDocs` for `_local` documents.
    func bulkDocuments(_ request: Request) async throws -> Answer {
        let (body, documents) = try request.documents()
        let isNew = body["new_edits"]?.bool != false
        var refusedDocuments = refusedDocuments
        var localDocuments: [JSONValue] = []
        let lines = try documents.elements.compactMap { object -> BulkLine? in
            guard object.kind == .object else { throw RequestError(400, "Document body must be JSON") }
            guard object["_id"]?.string?.hasPrefix("_local/") != true else {
                localDocuments.append(object)
                return nil
            }
            return BulkLine(object, isNew: isNew, refused: refusedDocuments?.next())
        }
        let outcomes = try await store.write(lines.compactMap { try? $0.edit.get() }, as: requestUser)
        let localOutcomes = try await writeLocalDocuments(localDocuments)
        return .json(Self.rows(lines, outcomes, localOutcomes), status: 201)
    }

    private static func rows(
        _ lines: [BulkLine], _ outcomes: [Result<WrittenRevision, RequestError>], _ localOutcomes: [LocalOutcome]
    ) -> [UInt8] {
        var outcomes = outcomes.makeIterator()
        var body = JSONWriter(minimumCapacity: lines.count * 80)
        body.array { body in
            for line in lines {
                switch line.edit.flatMap({ edit in (outcomes.next() ?? .failure(.unknownURL)).map { (edit.id, $0) } }) {
                case .success(let (id, written)): body.bulkRow(id, written)
                case .failure(let error): body.bulkRow(line.givenID ?? "", error)
                }
            }
            for (id, outcome) in localOutcomes {
                switch outcome {
                case .success(let written): body.bulkRow(id, written)
                case .failure(let error): body.bulkRow(id, error)
                }
            }
        }
        return body.bytes
    }
}

/// One document of a `_bulk_docs` request: ready to be written, or already refused.
private struct BulkLine {
    /// Nil if the gateway generates it.
    let givenID: String?
    let edit: Result<DocumentEdit, RequestError>

    init(_ object: JSONValue, isNew: Bool, refused: RequestError?) {
        givenID = object["_id"]?.string
        let id = givenID ?? StoredDocumentID.make()
        edit = Result { () throws(RequestError) in
            if let refused { throw refused }
            return try DocumentEdit(id: id, IncomingDocument(object, isNew: isNew), isNew: isNew)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func bulkRow(_ id: String, _ written: WrittenRevision) {
        object { row in
            if let version = written.version { row.member("cv", string: version) }
            row.member("id", escaped: id)
            row.member("rev", escaped: written.id.description)
        }
    }

    fileprivate mutating func bulkRow(_ id: String, _ error: RequestError) {
        object { row in
            row.member("error", string: error.rowName)
            if !id.isEmpty { row.member("id", escaped: id) }
            row.member("reason", escaped: error.reason)
            row.member("status", integer: error.status)
        }
    }
}
