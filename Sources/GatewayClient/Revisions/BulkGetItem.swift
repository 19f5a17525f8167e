public import LosslessJSON

/// One thing that `_bulk_get` brings.
public enum BulkGetItem: Sendable {
    /// A revision, its body as the gateway sent it.
    case revision(JSONText)
    /// An attachment of the revision before, where the gateway sends it beside the body (`"follows":true`).
    case attachment(BulkGetAttachment)
    case unavailable(BulkGetRefusal)
    /// A revision whose body can't be read.
    case malformed(BulkGetDamage)
}

/// A revision that came as what is not JSON, or is longer than any document.
public struct BulkGetDamage: Sendable, Equatable {
    /// Nil where the answer does not tell whose it is.
    public let id: DocumentID?
    public let reason: String
}

/// An attachment that came in a part of its own.
public struct BulkGetAttachment: Sendable {
    /// From `Content-Disposition`; nil if that names none.
    public let name: String?
    public let contentType: String?
    public let contentEncoding: String?
    public let bytes: [UInt8]
}

/// A revision that the gateway does not hand out.
public struct BulkGetRefusal: Sendable, Equatable {
    public let id: DocumentID
    /// Nil where none was asked for; CouchDB says `undefined` then.
    public let revision: RevisionID?
    /// `not_found`, `forbidden` …
    public let error: String
    public let reason: String
    /// Sync Gateway tells it, CouchDB does not.
    public let status: Int?

    /// `{"error","id","reason","rev","status"}`
    init(_ row: JSONValue) {
        id = DocumentID(row["id"]?.string ?? "")
        let revision = row["rev"]?.string
        self.revision = revision == "undefined" ? nil : revision.map(RevisionID.init)
        error = row["error"]?.string ?? "unknown error"
        reason = row["reason"]?.string ?? error
        status = row["status"]?.integer
    }
}

/// What to ask of `_bulk_get`.
public struct BulkGetKey: Sendable, Hashable {
    public let id: DocumentID
    /// Nil for the winning one.
    public let revision: RevisionID?

    public init(id: DocumentID, revision: RevisionID? = nil) {
        self.id = id
        self.revision = revision
    }
}
