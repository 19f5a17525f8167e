internal import GRDB

/// One document to write.
struct DocumentEdit: Sendable {
    enum Kind: Sendable {
        /// The gateway generates the revision id; the document's `_rev` is the parent.
        case newEdit
        /// The revision already has an id (`"new_edits":false`). The history is newest first.
        case replicated([StoredRevisionID])
    }

    let id: String
    let document: IncomingDocument
    let kind: Kind
}

extension Store {
    /// Writes documents in one transaction, in order. Each has its own outcome; a refused document does not affect the
    /// others.
    ///
    /// - Parameter requestUser: The user who writes, for the sync function.
    func write(
        _ edits: [DocumentEdit], as requestUser: RequestUser = .administrator
    ) async throws -> [Result<WrittenRevision, RequestError>] {
        let (outcomes, sequence, era) = try await database.write { [self] db in
            var writer = try DocumentWriter(db, self, requestUser)
            var outcomes: [Result<WrittenRevision, RequestError>] = []
            outcomes.reserveCapacity(edits.count)
            for edit in edits {
                do { outcomes.append(.success(try writer.write(edit))) } catch let error as RequestError {
                    outcomes.append(.failure(error))
                }
            }
            return (outcomes, try writer.finish(), signal.era)
        }
        signal.advance(to: sequence, in: era)
        return outcomes
    }

    func write(_ edit: DocumentEdit, as requestUser: RequestUser = .administrator) async throws -> WrittenRevision {
        try await write([edit], as: requestUser)[0].get()
    }
}

extension DocumentEdit {
    /// - Parameter isNew: Whether the gateway generates the revision id.
    /// - Throws: ``RequestError`` 400 for an invalid id or revision.
    init(id: String, _ document: IncomingDocument, isNew: Bool) throws(RequestError) {
        guard StoredDocumentID.isValid(id) else { throw .invalidDocumentID }
        var document = document
        if document.revision?.isEmpty == true { document.revision = nil }
        let named = document.revision.flatMap { StoredRevisionID($0) }
        if isNew, let text = document.revision, named == nil, !DocumentVersions.isVersion(text) {
            throw RequestError(400, "Invalid version type for OCC value: \"\(text)\"")
        }
        self.id = id
        self.document = document
        guard !isNew else {
            kind = .newEdit
            return
        }
        guard let history = document.history ?? named.map({ [$0] }) else {
            throw RequestError(400, "Bad _revisions")
        }
        kind = .replicated(history)
    }
}
