public import LosslessJSON

/// The content of a `_revs_diff` answer for one document.
public struct RevisionDifference: Sendable, Equatable {
    /// As in the request.
    public let id: DocumentID
    /// Revisions that the gateway does not have; empty if it has all of them.
    public let missing: [RevisionID]
    /// Revisions that the gateway has and that may be ancestors of the missing ones.
    public let possibleAncestors: [RevisionID]
}

/// A revision to store with `_bulk_docs` and `"new_edits":false`.
public struct RevisionToStore: Sendable {
    /// Its body must contain `_rev` and `_revisions`.
    public let document: BulkDocument
    /// Must equal the body's `_rev`: the answer's rows are matched by it.
    public let revision: RevisionID

    /// Does not compare `revision` with the body.
    public init(_ document: BulkDocument, revision: RevisionID) {
        self.document = document
        self.revision = revision
    }
}

/// The content of an `open_revs` answer for one revision.
public enum OpenRevision: Sendable {
    case found(JSONText)
    case missing(RevisionID)
}

/// What to include in a document.
public struct DocumentOptions: OptionSet, Sendable {
    /// One bit per option; see the values of the static members.
    public let rawValue: Int
    /// Unknown bits are ignored.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `_revisions`: the ancestors.
    public static let history = DocumentOptions(rawValue: 1)
    /// `_conflicts`: the leaves that did not win. CouchDB only: Sync Gateway 3.3.7 ignores it, even with allow_conflicts.
    public static let conflicts = DocumentOptions(rawValue: 2)
    /// The attachments' bytes inline, in base64.
    public static let attachments = DocumentOptions(rawValue: 4)

    var query: [(name: String, value: String)] {
        [(DocumentOptions.history, "revs"), (.conflicts, "conflicts"), (.attachments, "attachments")]
            .filter { contains($0.0) }.map { (name: $0.1, value: "true") }
    }
}

extension Gateway {
    /// One document, or one revision of it, even a deleted one; nil if the gateway does not have it.
    ///
    /// - Parameter revision: Nil for the winning revision; if that is deleted, the result is nil.
    /// - Throws: As ``document(_:)``; also `.badRequest` if `revision` is not a revision id.
    /// - Note: Source: `GET /{keyspace}/{id}`.
    public func document(
        _ id: DocumentID, revision: RevisionID? = nil, with options: DocumentOptions
    ) async throws(GatewayError) -> JSONText? {
        var query = options.query
        if let revision { query.append(("rev", revision.text)) }
        return try await optional(place(of: id), query: query)
    }

    /// The leaves of a document, including deleted ones, or the given `revisions`.
    ///
    /// - Throws: `.notFound` if there is no such document.
    /// - Note: Source: `GET /{keyspace}/{id}?open_revs=…`.
    public func openRevisions(
        of id: DocumentID, _ revisions: [RevisionID]? = nil
    ) async throws(GatewayError) -> [OpenRevision] {
        var wanted = JSONWriter()
        wanted.array { wanted in
            for revision in revisions ?? [] { wanted.string(revision.text) }
        }
        let value = revisions == nil ? "all" : String(decoding: wanted.bytes, as: UTF8.self)
        let request = GatewayRequest(
            place: place(of: id), query: [("open_revs", value)], deadline: settings.deadlines.bulk)
        let answer = try await text(request)
        return answer.root.elements.compactMap { row in
            if let body = row["ok"]?.copied() { return .found(body) }
            return row["missing"]?.string.map { .missing(RevisionID($0)) }
        }
    }

    /// Finds which of these revisions the gateway does not have.
    ///
    /// - Returns: One difference per document, in the order of `documents`.
    /// - Throws: `.notFound` if there is no such keyspace, `.unauthorized`, `.forbidden`, `.tooLarge` if the answer has
    ///   more than 256 MiB, `.malformedAnswer` if it is not a JSON object; others as for every request. A retry
    ///   makes sense if ``GatewayError/isRetryable`` is true: it changes nothing in the database.
    /// - Note: Source: `POST /{keyspace}/_revs_diff`. The gateway has every revision that its answer does not mention.
    public func revisionDifferences(
        _ documents: [(id: DocumentID, revisions: [RevisionID])]
    ) async throws(GatewayError) -> [RevisionDifference] {
        // CouchDB refuses the whole request for one id that a partitioned database can't have. Such a document is
        // missing, and is rejected when it is sent.
        let comparable = documents.filter { refusal(of: $0.id) == nil }
        var body = JSONWriter()
        body.object { body in
            for document in comparable {
                body.name(document.id.text)
                body.array { body in
                    for revision in document.revisions { body.string(revision.text) }
                }
            }
        }
        let request = GatewayRequest(
            method: "POST", place: .keyspace("_revs_diff"), body: .json(body.bytes), deadline: settings.deadlines.bulk)
        let answer = try await text(request) { GoQuotedText.asJSON($0) }
        guard answer.root.kind == .object else { throw .notJSON(Array(answer.bytes), from: url) }
        var differences: [DocumentID: JSONValue] = [:]
        for member in answer.root.members { differences[DocumentID(member.name.string ?? "")] = member.value }
        return documents.map { id, wanted in
            guard refusal(of: id) == nil else {
                return RevisionDifference(id: id, missing: wanted, possibleAncestors: [])
            }
            func revisions(_ name: String) -> [RevisionID] {
                differences[id]?[name]?.elements.compactMap { $0.string.map(RevisionID.init) } ?? []
            }
            return RevisionDifference(
                id: id, missing: revisions("missing"), possibleAncestors: revisions("possible_ancestors"))
        }
    }

    /// Stores revisions unchanged, with their ids and histories. There may be several leaves of one document.
    ///
    /// Repeating it changes nothing. If the call throws, any of them may have been stored: send them again.
    ///
    /// - Returns: One outcome per revision, in the order of `revisions`. Sync Gateway refuses a second leaf as
    ///   `.conflict` unless conflicts are allowed.
    /// - Note: Source: `POST /{keyspace}/_bulk_docs` with `"new_edits":false`. Sync Gateway answers one row per
    ///   revision, in the order of the request; CouchDB names only failures, and answers `[]` if there are none.
    public func storeRevisions(_ revisions: [RevisionToStore]) async throws(GatewayError) -> [BulkOutcome] {
        try await sendingAccepted(revisions, \.document.id) { taken async throws(GatewayError) in
            try await sendRevisions(taken)
        }
    }

    private func sendRevisions(_ revisions: [RevisionToStore]) async throws(GatewayError) -> [BulkOutcome] {
        let rows = try await postBulk(#"{"new_edits":false,"docs":["#, revisions.map(\.document))
        if rows.count == revisions.count {
            return zip(revisions, rows).map { revision, row in
                DocumentID(row["id"]?.string ?? "") == revision.document.id ? BulkOutcome(row: row) : .unmentioned
            }
        }
        return revisions.map { revision in
            let row = rows.first { row in
                DocumentID(row["id"]?.string ?? "") == revision.document.id
                    && row["rev"]?.string.map({ RevisionID($0) == revision.revision }) ?? true
            }
            if let row { return BulkOutcome(row: row) }
            return dialect.omitsStoredRevisions ? .written(revision.revision) : .unmentioned
        }
    }

    /// - Parameter repaired: Converts an answer that is not JSON.
    private func text(
        _ request: GatewayRequest, repaired: ([UInt8]) -> [UInt8] = { $0 }
    ) async throws(GatewayError) -> JSONText {
        let bytes = try await collect(request, limit: 256 << 20)
        // In this answer, documents are nested two levels deeper than on their own.
        let limits = JSONLimits(depth: JSONLimits.documents.depth + 2)
        if let text = try? JSONText(bytes, limits: limits) { return text }
        guard let text = try? JSONText(repaired(bytes), limits: limits) else { throw .notJSON(bytes, from: url) }
        return text
    }
}
