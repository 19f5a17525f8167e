public import LosslessJSON

/// One item of a `_bulk_get` answer.
public enum BulkGetItem: Sendable {
    /// A revision, its body as the gateway sent it.
    case revision(JSONText)
    /// An attachment of the preceding revision, if the gateway sends it separately from the body (`"follows":true`).
    case attachment(BulkGetAttachment)
    case unavailable(BulkGetRefusal)
    /// A revision whose body can't be read.
    case malformed(BulkGetDamage)
}

/// A revision whose body is not JSON, or is longer than any document.
public struct BulkGetDamage: Sendable, Equatable {
    /// Nil if the answer does not name the document.
    public let id: DocumentID?
    /// The reason for the user, without the document's id.
    public let reason: String
}

/// An attachment that was sent as a separate part.
public struct BulkGetAttachment: Sendable {
    /// From `Content-Disposition`; nil if that names none.
    public let name: String?
    /// Type of the part; nil if it has none.
    public let contentType: String?
    /// `gzip` if ``bytes`` are compressed; nil if they are not.
    public let contentEncoding: String?
    /// As sent, not decompressed.
    public let bytes: [UInt8]
}

/// A revision that the gateway does not return.
public struct BulkGetRefusal: Sendable, Equatable {
    /// Empty if the answer does not name the document.
    public let id: DocumentID
    /// Nil if none was requested; CouchDB then says `undefined`.
    public let revision: RevisionID?
    /// `not_found`, `forbidden` …
    public let error: String
    /// The reason for the user; equals ``error`` if the gateway gives none.
    public let reason: String
    /// The HTTP status; nil on CouchDB, which gives none.
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

/// One revision to request from `_bulk_get`.
public struct BulkGetKey: Sendable, Hashable {
    /// As in `_id`, not percent-encoded.
    public let id: DocumentID
    /// Nil for the winning revision.
    public let revision: RevisionID?

    /// Requests the winning revision unless another one is given.
    public init(id: DocumentID, revision: RevisionID? = nil) {
        self.id = id
        self.revision = revision
    }
}
