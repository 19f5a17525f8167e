internal import LosslessJSON

/// A document to write with `_bulk_docs`.
public struct BulkDocument: Sendable {
    /// Must equal the body's `_id`: the answer's rows are matched by it.
    public let id: DocumentID
    /// The JSON object in segments, sent in order. Documents may share segments.
    public let segments: [[UInt8]]

    /// Does no checks: the joined segments must be one JSON object with `_id` and, unless it is new, `_rev`.
    public init(id: DocumentID, segments: [[UInt8]]) {
        self.id = id
        self.segments = segments
    }

    /// The length of the joined segments.
    public var byteCount: Int { segments.reduce(0) { $0 + $1.count } }
}

/// What happened to one document of a bulk write. Failures here are not errors of the request.
public enum BulkOutcome: Sendable, Equatable {
    case written(RevisionID)
    /// Another revision is current: read it and decide again.
    case conflict
    /// Refused permanently: 400, 403, 413 and anything else that repeating won't change. The status is 0 if the gateway
    /// never gave a proper answer for this document.
    case rejected(status: Int, reason: String)
    /// The gateway failed on this document (500, CouchDB's `unknown_error`), permanently or temporarily, or refused it
    /// for a reason of the account (402, 423, 424, 425, 451). A few retries may help.
    case failed(reason: String)
    /// Refused for now (429, 502, 503, 504, 507, or CouchDB's names for them): the same write may succeed later.
    case undecided(reason: String)
    /// Missing from the answer: the document may or may not have been written.
    case unmentioned
}

extension Gateway {
    /// Writes documents in one request. Their ids must differ: it is a programming error if two are equal.
    ///
    /// Documents with ids that a partitioned database refuses are rejected and not sent.
    ///
    /// Not atomic: each document has its own outcome. If the call throws, any of them may have been written. Sending
    /// them again is safe: they contain their `_rev`, so written ones are reported as conflicts.
    ///
    /// - Returns: One outcome per document, in the order of `documents`, matched by id.
    /// - Throws: `.tooLarge` (413) and `.badRequest` (400) concern the whole request: CouchDB refuses all documents for
    ///   one bad id. Send fewer.
    /// - Note: Source: `POST /{keyspace}/_bulk_docs`. Sync Gateway's rows are `{"id","rev"}` or
    ///   `{"id","error","reason","status"}`; CouchDB's have `"ok":true` or no status.
    public func bulkDocs(_ documents: [BulkDocument]) async throws(GatewayError) -> [BulkOutcome] {
        precondition(
            Set(documents.map(\.id)).count == documents.count, "two documents of one bulk request have the same id")
        return try await sendingAccepted(documents, \.id) { taken async throws(GatewayError) in
            try await sendBulk(taken)
        }
    }

    private func sendBulk(_ documents: [BulkDocument]) async throws(GatewayError) -> [BulkOutcome] {
        let rows = try await postBulk(#"{"docs":["#, documents)
        // Usually, the rows are in the order of the documents.
        if rows.elementsEqual(documents, by: { row, document in row["id"]?.isString(document.id.text) ?? false }) {
            return rows.map { BulkOutcome(row: $0) }
        }
        var outcomes: [DocumentID: BulkOutcome] = [:]
        for row in rows {
            if let id = row["id"]?.string { outcomes[DocumentID(id)] = BulkOutcome(row: row) }
        }
        return documents.map { outcomes[$0.id] ?? .unmentioned }
    }

    /// Sends `_bulk_docs` and returns the rows of the answer.
    ///
    /// - Parameter opening: The body up to the first document: an object whose last member so far is the list `docs`.
    func postBulk(_ opening: String, _ documents: [BulkDocument]) async throws(GatewayError) -> [JSONValue] {
        var body: [[UInt8]] = [Array(opening.utf8)]
        for (index, document) in documents.enumerated() {
            if index > 0 { body.append(Array(",\n".utf8)) }
            body.append(contentsOf: document.segments)
        }
        body.append(Array("]}".utf8))

        let request = GatewayRequest(
            method: "POST", place: .keyspace("_bulk_docs"),
            body: .json(segments: body, mayBeCompressed: true),
            deadline: settings.deadlines.bulk)
        let answer = try await collect(request, limit: (1 << 20) + documents.count * 4096)
        guard let text = try? JSONText(answer), text.root.kind == .array else { throw .notJSON(answer, from: url) }
        return Array(text.root.elements)
    }
}

extension BulkOutcome {
    /// Whether the gateway fails on this document alone: its validation function throws something other than a refusal
    /// (CouchDB), or its sync function fails (Sync Gateway).
    public var isOwnFailure: Bool {
        guard case .failed(let reason) = self else { return false }
        return reason.prefix { $0 != ":" } == Self.unknownError || reason.hasSuffix("Exception in JS sync function")
    }

    private static let unknownError = "unknown_error"

    init(row: JSONValue) {
        if let revision = row["rev"]?.string, row["error"] == nil {
            self = .written(RevisionID(revision))
            return
        }
        let error = row["error"]?.string ?? "unknown error"
        let status = row["status"]?.integer ?? Self.status(ofCouchDBError: error)
        // Sync Gateway repeats the status where it has no name for the error.
        let reason = row["reason"]?.string.map { error == "\(status)" ? $0 : "\(error): \($0)" } ?? error
        switch status {
        case 409: self = .conflict
        case 429, 502, 503, 504, 507: self = .undecided(reason: reason)
        case 500: self = .failed(reason: reason)
        // About the account rather than the document, unless other documents are written meanwhile.
        case _ where GatewayError.accountStatuses.contains(status): self = .failed(reason: reason)
        default: self = .rejected(status: status, reason: reason)
        }
    }

    /// CouchDB's rows have no status, only the error's name.
    private static func status(ofCouchDBError error: String) -> Int {
        switch error {
        case "conflict": 409
        case "forbidden": 403
        case "unauthorized": 401
        case "timeout", "service_unavailable", "service unavailable": 503
        case "insufficient_storage": 507
        case "internal_server_error", unknownError: 500
        case "too_many_requests": 429
        default: 400
        }
    }
}
