internal import LosslessJSON

/// A document as it goes into `_bulk_docs`.
public struct BulkDocument: Sendable {
    public let id: DocumentID
    /// The JSON object, in pieces that are sent one behind the other: pieces may be shared between documents.
    public let segments: [[UInt8]]

    public init(id: DocumentID, segments: [[UInt8]]) {
        self.id = id
        self.segments = segments
    }

    public var byteCount: Int { segments.reduce(0) { $0 + $1.count } }
}

/// What became of one document of a bulk write. Failures here are not errors of the request.
public enum BulkOutcome: Sendable, Equatable {
    case written(RevisionID)
    /// Another revision is there: read it and decide again.
    case conflict
    /// Refused for good: 400, 403, 413 and whatever else repeating won't change. The status is 0 where there never was an
    /// answer to it.
    case rejected(status: Int, reason: String)
    /// The gateway fell over this one (500, CouchDB's `unknown_error`): for good, or only now. Repeating it a few times
    /// may help.
    case failed(reason: String)
    /// Refused for now (429, 502, 503, 504, 507; CouchDB's errors of its own): the same write may pass later.
    case undecided(reason: String)
    /// The answer does not say: the document may have been written or not.
    case unmentioned
}

extension Gateway {
    /// Writes documents of different ids, all in one request.
    ///
    /// Not atomic: each document has an outcome of its own. If the call throws, any part of them may have been written;
    /// since documents carry their `_rev`, sending them again is safe and shows as a conflict what was.
    ///
    /// - Returns: One outcome per document, in the order of `documents`, matched by id.
    /// - Throws: `.tooLarge` (413) and `.badRequest` (400) are about the request as a whole: CouchDB refuses all for
    ///   one bad id. Send fewer.
    /// - Note: Source: `POST /{keyspace}/_bulk_docs`. Sync Gateway's rows are `{"id","rev"}` or
    ///   `{"id","error","reason","status"}`; CouchDB's have `"ok":true` or no status.
    public func bulkDocs(_ documents: [BulkDocument]) async throws(GatewayError) -> [BulkOutcome] {
        precondition(Set(documents.map(\.id)).count == documents.count, "one write per document and request")
        var body: [[UInt8]] = [Array(#"{"docs":["#.utf8)]
        for (index, document) in documents.enumerated() {
            if index > 0 { body.append(Array(",\n".utf8)) }
            body.append(contentsOf: document.segments)
        }
        body.append(Array("]}".utf8))

        let request = GatewayRequest(
            method: "POST", place: .keyspace("_bulk_docs"), body: body, deadline: settings.deadlines.bulk,
            mayCompress: true)
        let answer = try await collect(request, limit: (1 << 20) + documents.count * 4096)
        guard let rows = SmallJSON(answer)?.elements else { throw .notJSON(answer, from: url) }
        var outcomes: [DocumentID: BulkOutcome] = [:]
        for row in rows {
            if let id = row["id"]?.string { outcomes[DocumentID(id)] = BulkOutcome(row: row) }
        }
        return documents.map { outcomes[$0.id] ?? .unmentioned }
    }
}

extension BulkOutcome {
    /// Whether the gateway falls over this document by itself, and over no other: its validation function throws something
    /// that is no refusal (CouchDB), or its sync function fails (Sync Gateway).
    public var isOwnFailure: Bool {
        guard case .failed(let reason) = self else { return false }
        return reason.prefix { $0 != ":" } == Self.unknownError || reason.hasSuffix("Exception in JS sync function")
    }

    private static let unknownError = "unknown_error"

    init(row: SmallJSON) {
        if let revision = row["rev"]?.string, row["error"] == nil {
            self = .written(RevisionID(revision))
            return
        }
        let error = row["error"]?.string ?? "unknown error"
        let reason = row["reason"]?.string.map { "\(error): \($0)" } ?? error
        switch row["status"]?.integer ?? Self.status(ofCouchDBError: error) {
        case 409: self = .conflict
        case 429, 502, 503, 504, 507: self = .undecided(reason: reason)
        case 500: self = .failed(reason: reason)
        case let status: self = .rejected(status: status, reason: reason)
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
