internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

extension Keyspace {
    /// Writes the changes of a value since it was read, or a new document. The value then represents the new revision.
    ///
    /// A repeated write whose answer was lost is recognized: a conflict with the same content counts as saved.
    ///
    /// - Parameter document: Changed only if the outcome is ``SaveOutcome/saved(_:)``.
    /// - Throws: `GatewayError`: `.forbidden` if the database refuses the write, `.tooLarge`, `.unauthorized`,
    ///   `.connectionLost` or `.timedOut`, in which case it may have been written; others as for every request. A retry
    ///   makes sense if `isRetryable` is true. Before the first request: `EncodingError` if the value can't be a
    ///   document, such as an infinite number; ``DocumentDecodingError`` if its encoded form can't be read again;
    ///   `JSONEditError` if a change concerns a duplicate member; errors of ``DocumentCodable/validate()``.
    public func save<Document: DocumentCodable>(_ document: inout Document) async throws -> SaveOutcome<Document> {
        try await save(&document, onConflict: .report)
    }

    /// Like ``save(_:)``, but settles a conflict by a policy.
    ///
    /// The other version is read, and the policy's result is written. If that meets another conflict, it is decided
    /// again, up to ten times. Each time, the change is that since the value was read.
    ///
    /// ```swift
    /// let outcome = try await keyspace.save(&task, onConflict: .merge)
    /// ```
    ///
    /// - Parameters:
    ///   - document: Changed unless the outcome is ``SaveOutcome/conflict(with:)``: then to the gateway's current
    ///     content.
    ///   - policy: How to settle a conflict.
    /// - Returns: ``SaveOutcome/unchanged`` also if the policy chooses the other version.
    ///   ``SaveOutcome/conflict(with:)`` if it can't settle the conflict: a deletion wins; the other version or the
    ///   result does not fit the type or is not valid; the bytes of an attachment are gone; or other clients keep
    ///   changing the document.
    /// - Throws: The same errors as ``save(_:)``.
    public func save<Document: DocumentCodable>(
        _ document: inout Document, onConflict policy: ConflictPolicy
    ) async throws -> SaveOutcome<Document> {
        try document.validate()
        let draft = try DocumentDraft(of: document, isCollection: gateway.url.keyspace.isNamedCollection)
        guard !draft.isUnchanged else { return .unchanged }
        var next = (draft: draft, value: try value(of: draft, as: document))
        let policy = policy.resolved(for: Document.self)
        for _ in 0..<AttemptLimits.conflicts {
            if let revision = try await write(next.draft, document.id) {
                document = next.value
                document.origin = DocumentOrigin(document.id, revision, try next.draft.saved(as: revision))
                return .saved(revision)
            }
            let other = try await otherVersion(Document.self, document.id)
            let dialect = try await gateway.findDialect()
            let text = other.text
            if case .document(let theirs) = other, let revision = theirs.revision, let text,
                next.draft.isContent(of: text.root, for: dialect)
            {
                document = theirs
                return .saved(revision)
            }
            guard policy.kind != .report, !other.isUndecodable else { return .conflict(with: other) }
            let settlement = DraftSettlement(
                draft: draft, base: document.origin.text, policy: policy, dialect: dialect)
            let resolution = try await settlement.resolution(with: text)
            if case .keep(DraftSettlement.other) = resolution {
                if case .document(let theirs) = other { document = theirs }
                return .unchanged
            }
            guard let settled = try settlement.draft(of: resolution, over: text),
                let value = valid(settled, after: other, document)
            else { return .conflict(with: other) }
            next = (settled, value)
        }
        return .conflict(with: try await otherVersion(Document.self, document.id))
    }

    /// Deletes a document, unless it was changed concurrently since it was read.
    ///
    /// - Parameter document: A value that was read or saved. For a new value, nothing is written:
    ///   ``SaveOutcome/unchanged``.
    /// - Throws: The same errors as ``save(_:)``.
    public func delete<Document: DocumentCodable>(_ document: Document) async throws -> SaveOutcome<Document> {
        try await delete(document, onConflict: .report)
    }

    /// Like ``delete(_:)``, but settles a conflict by a policy.
    ///
    /// - Parameters:
    ///   - document: A value that was read or saved. For a new value, nothing is written.
    ///   - policy: ``ConflictPolicy/deletesWin`` and ``ConflictPolicy/lastUpdateWins`` delete the changed document,
    ///     even if it no longer fits the type. The other policies keep it.
    /// - Returns: ``SaveOutcome/unchanged`` also if it was already deleted.
    /// - Throws: The same errors as ``save(_:)``.
    public func delete<Document: DocumentCodable>(
        _ document: Document, onConflict policy: ConflictPolicy
    ) async throws -> SaveOutcome<Document> {
        guard var revision = document.revision else { return .unchanged }
        let policy = policy.resolved(for: Document.self)
        for _ in 0..<AttemptLimits.conflicts {
            if let tombstone = try await delete(document.id, revision) { return .saved(tombstone) }
            let other = try await otherVersion(Document.self, document.id)
            guard policy.kind != .report else { return .conflict(with: other) }
            if case .deleted = other { return .unchanged }
            guard policy.kind != .merge, let next = other.revision else { return .conflict(with: other) }
            revision = next
        }
        return .conflict(with: try await otherVersion(Document.self, document.id))
    }

    /// Nil after a conflict.
    private func delete(_ id: DocumentID, _ revision: RevisionID) async throws(GatewayError) -> RevisionID? {
        var body = JSONWriter()
        body.object { body in
            body.member("_id", string: id.text)
            body.member("_rev", string: revision.text)
            body.member("_deleted", bool: true)
        }
        do throws(GatewayError) { return try await gateway.put(id, body: body.bytes) } catch {
            guard error.code == .conflict else { throw error }
            return nil
        }
    }

    /// The value of a policy's result; nil if it does not fit the type, or is not valid.
    private func valid<Document: DocumentCodable>(
        _ draft: DocumentDraft, after other: OtherVersion<Document>, _ document: Document
    ) -> Document? {
        var current = document
        if case .document(let theirs) = other { current = theirs }
        guard let value = try? value(of: draft, as: current), (try? value.validate()) != nil else { return nil }
        return value
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
        case .failure(let error): return .undecodable(error)
        }
    }

    /// The value as it will be read after it is saved.
    private func value<Document: DocumentCodable>(of draft: DocumentDraft, as document: Document) throws -> Document {
        let revision = document.revision ?? RevisionID("0-0")
        let text = try draft.saved(as: revision)
        return try reading(Document.self).read(text.root, id: document.id, revision: document.revision).get()
    }
}

extension AttachmentUpload {
    fileprivate init(_ upload: DocumentDraft.Upload, for dialect: GatewayDialect) {
        let bytes = OneTimeSource(upload.bytes)
        self.init(
            name: upload.name, contentType: upload.contentType, digest: upload.digest(for: dialect),
            source: ByteSource(count: upload.bytes.count) { await bytes.take() })
    }
}

/// Bytes that are sent in one piece.
private actor OneTimeSource {
    private var bytes: [UInt8]?

    init(_ bytes: [UInt8]) { self.bytes = bytes.isEmpty ? nil : bytes }

    func take() -> [UInt8]? {
        defer { bytes = nil }
        return bytes
    }
}
