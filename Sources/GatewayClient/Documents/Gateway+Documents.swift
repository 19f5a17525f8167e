public import LosslessJSON

extension Gateway {
    /// One document; nil if it is missing or deleted.
    ///
    /// - Throws: `.notFound` if there is no such keyspace, `.unauthorized`, `.forbidden` if this user may not read it,
    ///   `.tooLarge` beyond 128 MiB, `.malformedAnswer` if the answer is not a JSON object; others as for every
    ///   request. A retry makes sense if ``GatewayError/isRetryable`` is true.
    /// - Note: Source: `GET /{keyspace}/{id}`. Sync Gateway sorts the members of this answer.
    public func document(_ id: DocumentID) async throws(GatewayError) -> JSONText? {
        try await optional(place(of: id))
    }

    /// The bytes of an attachment, at most 64 MiB; nil if there is no such document or attachment.
    ///
    /// - Throws: `.tooLarge` if it is longer.
    /// - Note: Source: `GET /{keyspace}/{id}/{attachment}`.
    public func attachment(_ name: String, of id: DocumentID) async throws(GatewayError) -> [UInt8]? {
        let request = GatewayRequest(
            place: place(of: id, attachment: name), deadline: settings.deadlines.stream,
            silence: settings.deadlines.silence)
        return try await nilIfMissing { () async throws(GatewayError) in
            try await collect(request, limit: 64 << 20)
        }
    }

    /// Writes one document and returns its new revision. `body` contains the `_rev` to replace, if there is one.
    ///
    /// - Throws: `.conflict` if that is not the current one.
    /// - Note: Source: `PUT /{keyspace}/{id}`.
    @discardableResult
    public func put(_ id: DocumentID, body: [UInt8]) async throws(GatewayError) -> RevisionID {
        try requireAccepted(id)
        return try await put(place(of: id), body)
    }

    func put(_ place: GatewayRequest.Place, _ body: [UInt8]) async throws(GatewayError) -> RevisionID {
        try await revision(
            writtenBy: GatewayRequest(method: "PUT", place: place, body: .json(body), deadline: settings.deadlines.bulk)
        )
    }

    /// Sends a PUT and returns the revision that its answer names.
    func revision(writtenBy request: GatewayRequest) async throws(GatewayError) -> RevisionID {
        guard let revision = try await answer(request)["rev"]?.string else {
            throw GatewayError(.malformedAnswer, "\(url): the answer to a PUT names no revision")
        }
        return RevisionID(revision)
    }

    /// A document at `place`; nil if there is none.
    func optional(
        _ place: GatewayRequest.Place, query: [(name: String, value: String)] = []
    ) async throws(GatewayError) -> JSONText? {
        let request = GatewayRequest(place: place, query: query, deadline: settings.deadlines.bulk)
        let body = try await nilIfMissing { () async throws(GatewayError) in
            try await collect(request, limit: 128 << 20)
        }
        guard let body else { return nil }
        guard let document = try? JSONText(body), document.root.kind == .object else {
            throw .notJSON(body, from: url)
        }
        return document
    }

    /// The result of `read`; nil if the requested item is missing, but its keyspace exists.
    ///
    /// - Throws: What `read` throws; also what ``databaseInfo()`` throws, which is called if the answer is not a known
    ///   one: a missing database must not count as a missing document.
    func nilIfMissing<Answer>(
        _ read: () async throws(GatewayError) -> Answer
    ) async throws(GatewayError) -> Answer? {
        do throws(GatewayError) { return try await read() } catch {
            if try await isAbsence(error) { return nil }
            throw error
        }
    }

    /// Whether a refusal means that the requested item is missing, but its keyspace exists.
    private func isAbsence(_ error: GatewayError) async throws(GatewayError) -> Bool {
        guard error.code == .notFound else { return false }
        switch error.cause {
        case .documentMissing?, .documentDeleted?, .localDocumentMissing?, .attachmentMissing?: return true
        case nil:
            _ = try await databaseInfo()
            return true
        default: return false
        }
    }
}
