public import LosslessJSON

/// The content of an `_all_docs` row for one key.
public enum DocumentLookup: Sendable {
    /// The winning revision and its body.
    case found(RevisionID, JSONText)
    case deleted(RevisionID)
    case missing
    /// This user may not see it, or the gateway could not read it.
    case refused(reason: String)

    /// The size of its body; 0 if there is none.
    public var byteCount: Int {
        if case .found(_, let document) = self { document.bytes.count } else { 0 }
    }
}

extension Gateway {
    /// Reads documents by id, with their bodies as the gateway stores them.
    ///
    /// The whole answer is held in memory: request only as many as the memory budget allows.
    ///
    /// - Parameters:
    ///   - includesBodies: If false, the body of each document found is `{}`.
    ///   - limit: The longest answer to accept, in bytes.
    /// - Returns: One lookup per key, in the order of `keys`.
    /// - Throws: `.malformedAnswer` also if a key has no row: a truncated answer must not count as "missing".
    ///   `.tooLarge` if the answer is longer than `limit`: request fewer.
    /// - Note: Source: `POST /{keyspace}/_all_docs?include_docs=true`. Unlike `GET /{keyspace}/{id}`, Sync Gateway
    ///   keeps the order of members here.
    public func allDocs(
        keys: [DocumentID], includesBodies: Bool = true, limit: Int = 256 << 20
    ) async throws(GatewayError) -> [DocumentLookup] {
        // CouchDB refuses the whole request for one id that a partitioned database can't have.
        let readable = keys.filter { refusal(of: $0) == nil }
        guard !readable.isEmpty || keys.isEmpty else { return keys.map { .refused(reason: refusal(of: $0) ?? "") } }
        var body = JSONWriter()
        body.object { body in
            body.name("keys")
            body.array { body in
                for key in readable { body.string(key.text) }
            }
        }
        let request = GatewayRequest(
            method: "POST", place: .keyspace("_all_docs"), query: includesBodies ? [("include_docs", "true")] : [],
            body: .json(body.bytes),
            deadline: settings.deadlines.bulk)
        let bytes = try await collect(request, limit: limit)
        // In this answer, documents are nested three levels deeper than on their own.
        let limits = JSONLimits(depth: JSONLimits.documents.depth + 3)
        guard let answer = try? JSONText(bytes, limits: limits), let rows = answer.root["rows"], rows.kind == .array
        else {
            throw .notJSON(bytes, from: url)
        }
        var lookups: [DocumentID: DocumentLookup] = [:]
        for row in rows.elements {
            if let key = row["key"]?.string {
                lookups[DocumentID(key)] = DocumentLookup(row: row, hasBody: includesBodies)
            }
        }
        return try keys.map { key throws(GatewayError) in
            if let lookup = lookups[key] { return lookup }
            if let reason = refusal(of: key) { return .refused(reason: reason) }
            throw GatewayError(.malformedAnswer, "\(url): the answer to _all_docs lacks a row for a key")
        }
    }
}

extension DocumentLookup {
    /// `{"key","id","value":{"rev"},"doc"}`; `{"key","error":"not_found"}`; CouchDB's rows for deleted documents have
    /// `"value":{"rev","deleted":true},"doc":null`.
    init(row: JSONValue, hasBody: Bool = true) {
        if let error = row["error"]?.string {
            self = error == "not_found" ? .missing : .refused(reason: row["reason"]?.string ?? error)
            return
        }
        let revision = RevisionID(row["value"]?["rev"]?.string ?? "")
        if row["value"]?["deleted"]?.bool == true || row["doc"]?["_deleted"]?.bool == true {
            self = .deleted(revision)
        } else if !hasBody, let nothing = try? JSONText("{}") {
            self = .found(revision, nothing)
        } else if let document = row["doc"], document.kind == .object, let text = document.copied() {
            self = .found(revision, text)
        } else {
            self = .refused(reason: "the gateway sent no body")
        }
    }
}
