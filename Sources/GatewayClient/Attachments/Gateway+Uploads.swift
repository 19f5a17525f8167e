internal import Encodings
internal import HTTPTransport
internal import Locking
internal import LosslessJSON

extension Gateway {
    /// Writes an attachment from bytes that are produced while they are sent, and returns the new revision of its
    /// document.
    ///
    /// Sent only once, because the bytes can be read only once: after `.unauthorized`, `.connectionLost` or `.timedOut`
    /// a new source is needed. A partly sent body is not written.
    ///
    /// - Parameter revision: The current revision. Nil creates a document; both servers refuse that if it exists.
    /// - Throws: `.conflict` if `revision` is not the current one, `.tooLarge`, `.sourceFailed`.
    /// - Note: Source: `PUT /{keyspace}/{id}/{attachment}`.
    @discardableResult
    public func putAttachment(
        _ name: String, of id: DocumentID, revision: RevisionID?, contentType: String, source: ByteSource
    ) async throws(GatewayError) -> RevisionID {
        var request = GatewayRequest(
            method: "PUT", place: place(of: id, attachment: name))
        if let revision { request.query = [("rev", revision.text)] }
        return try await upload(HTTPBodySource(count: source.count, next: source.next), contentType, request)
    }

    /// Writes a document together with attachments, in one revision. Existing attachments to keep must be in `body` as
    /// stubs.
    ///
    /// - Parameters:
    ///   - body: A JSON object with the `_rev` to replace, if there is one.
    ///   - attachments: Attachments with different names. They are read in this order.
    /// - Throws: The same errors as ``putAttachment(_:of:revision:contentType:source:)``; also `.invalidRequest` if
    ///   `body` is not an object, two attachments share a name, or one lacks the digest that Sync Gateway requires.
    /// - Note: Source: `PUT /{keyspace}/{id}` with `multipart/related`. Sync Gateway 4.1 answers 400 without a digest
    ///   (`MIME part #2 doesn't match any attachment`).
    @discardableResult
    public func put(
        _ id: DocumentID, body: [UInt8], attachments: [AttachmentUpload]
    ) async throws(GatewayError) -> RevisionID {
        try await put(id, body, attachments, query: [])
    }

    /// Stores a revision unchanged, with its id and history, together with attachments.
    ///
    /// - Parameter body: A JSON object with `_rev` and `_revisions`. It may contain stubs of attachments that the
    ///   gateway already has.
    /// - Throws: The same errors as ``put(_:body:attachments:)``. `.conflict` if the gateway keeps one leaf and has
    ///   another, or on CouchDB if it lacks the bytes for a stub (``GatewayError/name`` `missing_stub`).
    /// - Note: Source: `PUT /{keyspace}/{id}?new_edits=false`.
    @discardableResult
    package func storeRevision(
        _ id: DocumentID, body: [UInt8], attachments: [AttachmentUpload] = []
    ) async throws(GatewayError) -> RevisionID {
        try await put(id, body, attachments, query: [("new_edits", "false")])
    }

    private func put(
        _ id: DocumentID, _ body: [UInt8], _ attachments: [AttachmentUpload], query: [(name: String, value: String)]
    ) async throws(GatewayError) -> RevisionID {
        try requireAccepted(id)
        guard !attachments.isEmpty else {
            let request = GatewayRequest(
                method: "PUT", place: place(of: id), query: query, body: .json(body), deadline: settings.deadlines.bulk)
            return try await revision(writtenBy: request)
        }
        guard let document = try? JSONText(body), document.root.kind == .object else {
            throw GatewayError(.invalidRequest, "the document '\(id)' must be a JSON object")
        }
        let dialect = try await findDialect()
        if let error = Self.error(of: attachments, dialect) { throw GatewayError(.invalidRequest, error) }
        let parts = RelatedParts(
            document, attachments, digests: dialect.attachmentDigest, boundary: Self.boundary())
        guard let source = parts.source() else {
            throw GatewayError(.invalidRequest, "the attachments of '\(id)' are too long to send")
        }
        let request = GatewayRequest(method: "PUT", place: place(of: id), query: query)
        return try await upload(source, parts.contentType, request)
    }

    private func upload(
        _ source: HTTPBodySource, _ contentType: String, _ request: GatewayRequest
    ) async throws(GatewayError) -> RevisionID {
        var request = request
        request.body = GatewayRequest.Body(content: .source(source), type: contentType)
        (request.deadline, request.silence) = (settings.deadlines.stream, settings.deadlines.silence)
        return try await revision(writtenBy: request)
    }

    private static func error(of attachments: [AttachmentUpload], _ dialect: GatewayDialect) -> String? {
        guard Set(attachments.map { Array($0.name.utf8) }).count == attachments.count else {
            return "two attachments have the same name"
        }
        for attachment in attachments {
            let head = attachment.name + attachment.contentType
            guard head.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                return "the name or type of an attachment contains control characters"
            }
            if dialect.requiresAttachmentDigests, attachment.digest?.algorithm != dialect.attachmentDigest {
                return "\(dialect.name) requires the SHA-1 digest of the attachment '\(attachment.name)'"
            }
        }
        return nil
    }

    /// Random, so that no attachment contains it.
    private static func boundary() -> String {
        (0..<4).map { _ in String(SystemRandom.number() >> 32, radix: 36) }.joined(separator: "-")
    }
}
