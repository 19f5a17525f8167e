internal import GatewayClient
internal import LosslessJSON

extension Keyspace {
    /// Writes what has changed in a value since it was read, or a new document. Afterwards the value is that of the new
    /// revision.
    ///
    /// A write whose answer was lost is recognised when it is repeated: a conflict with the same content counts as saved.
    ///
    /// - Parameter document: Changed only if the outcome is ``SaveOutcome/saved(_:)``.
    /// - Throws: `GatewayError`: `.forbidden` if the database refuses the write, `.tooLarge`, `.unauthorized`,
    ///   `.connectionLost` or `.timedOut`, when it may have been written; others as for every request. A retry makes
    ///   sense if `isRetryable` is true. Before anything is sent: `EncodingError` if the value can't be a document, such
    ///   as an infinite number; ``DocumentDecodingError`` if what it encodes can't be read again; `JSONEditError` if the
    ///   document has two members of one name where a change must be made; what ``DocumentCodable/validate()`` throws.
    public func save<Document: DocumentCodable>(_ document: inout Document) async throws -> SaveOutcome<Document> {
        try document.validate()
        let draft = try DocumentDraft(of: document, isCollection: gateway.url.keyspace.isNamedCollection)
        guard !draft.isUnchanged else { return .unchanged }
        var saved = try value(of: draft, as: document)
        if let revision = try await write(draft, document.id) {
            saved.origin = DocumentOrigin(document.id, revision, try draft.saved(as: revision))
            document = saved
            return .saved(revision)
        }
        let other = try await otherVersion(Document.self, document.id)
        guard case .document(let theirs) = other, let revision = theirs.revision, let text = theirs.origin.text,
            draft.isContent(of: text.root, for: try await gateway.findDialect())
        else { return .conflict(with: other) }
        document = theirs
        return .saved(revision)
    }

    /// Deletes a document, unless somebody else has changed it since it was read.
    ///
    /// - Parameter document: A value that was read or saved. Of a new one nothing is written: ``SaveOutcome/unchanged``.
    /// - Throws: As ``save(_:)``.
    public func delete<Document: DocumentCodable>(_ document: Document) async throws -> SaveOutcome<Document> {
        guard let revision = document.revision else { return .unchanged }
        var body = JSONWriter()
        body.object { body in
            body.member("_id", string: document.id.text)
            body.member("_rev", string: revision.text)
            body.member("_deleted", bool: true)
        }
        do throws(GatewayError) { return .saved(try await gateway.put(document.id, body: body.bytes)) } catch {
            guard error.code == .conflict else { throw error }
            return .conflict(with: try await otherVersion(Document.self, document.id))
        }
    }

    /// Nil after a conflict.
    private func write(_ draft: DocumentDraft, _ id: DocumentID) async throws -> RevisionID? {
        do throws(GatewayError) {
            guard !draft.uploads.isEmpty else { return try await gateway.put(id, body: draft.body.bytes) }
            let dialect = try await gateway.findDialect()
            return try await gateway.put(
                id, body: draft.body.bytes, attachments: draft.uploads.map { AttachmentUpload($0, for: dialect) })
        } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    private func otherVersion<Document: DocumentCodable>(
        _ type: Document.Type, _ id: DocumentID
    ) async throws -> OtherVersion<Document> {
        guard let text = try await gateway.document(id) else { return .deleted }
        switch reading(type).read(text.root, id: id, revision: nil) {
        case .success(let document): return .document(document)
        case .failure(let error): return .misfit(error)
        }
    }

    /// The value as it will be read once it is saved.
    private func value<Document: DocumentCodable>(of draft: DocumentDraft, as document: Document) throws -> Document {
        let revision = document.revision ?? RevisionID("0-0")
        let text = try draft.saved(as: revision)
        return try reading(Document.self).read(text.root, id: document.id, revision: document.revision).get()
    }
}

extension AttachmentUpload {
    fileprivate init(_ upload: DocumentDraft.Upload, for dialect: GatewayDialect) {
        let bytes = OneTime(upload.bytes)
        self.init(
            name: upload.name, contentType: upload.contentType, digest: upload.digest(for: dialect),
            source: ByteSource(count: upload.bytes.count) { await bytes.take() })
    }
}

/// Bytes that are sent in one piece.
private actor OneTime {
    private var bytes: [UInt8]?

    init(_ bytes: [UInt8]) { self.bytes = bytes.isEmpty ? nil : bytes }

    func take() -> [UInt8]? {
        defer { bytes = nil }
        return bytes
    }
}
