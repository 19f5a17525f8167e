internal import Encodings
internal import LosslessJSON

/// One revision of a document as stored.
struct StoredDocument: Sendable {
    let id: String
    let revision: String
    let isDeleted: Bool
    let body: [UInt8]
    /// The text of `_attachments`, stubs only. Nil if there are none.
    let attachments: [UInt8]?
    let channels: [String]
    /// `_cv`. Nil if it is not shown, or the revision is older than version support.
    private(set) var version: String?
    /// `_exp`: the expiry in seconds since 1970. Nil if the document never expires, or the expiry was not requested.
    var expires: Int?

    init(
        id: String, revision: String, isDeleted: Bool, body: [UInt8], attachments: [UInt8]? = nil,
        channels: [String] = [], version: String? = nil
    ) {
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.body = body
        self.attachments = attachments
        self.channels = channels
        self.version = version
    }

    /// The form for a user who knows the revision id but may not read the document: states that it is not accessible.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1; tombstones stay visible as such.
    var redacted: StoredDocument {
        StoredDocument(
            id: id, revision: revision, isDeleted: isDeleted,
            body: Array((isDeleted ? "{}" : #"{"_removed":true}"#).utf8))
    }

    /// The same revision without `_cv`.
    var withoutVersion: StoredDocument {
        var document = self
        document.version = nil
        return document
    }

    /// The document as GET returns it: the gateway's members first, then the stored body.
    ///
    /// - Parameters:
    ///   - sent: Replaces the stored stubs. Nil keeps them.
    ///   - history: `_revisions`, if requested.
    func text(attachments sent: [UInt8]? = nil, history: [StoredRevisionID]? = nil) -> [UInt8] {
        let attachments = sent ?? attachments
        var text = JSONWriter(minimumCapacity: body.count + (attachments?.count ?? 0) + 160)
        text.object { text in
            if let attachments { text.member("_attachments", raw: attachments) }
            if let version { text.member("_cv", string: version) }
            if isDeleted { text.member("_deleted", bool: true) }
            if let expires { text.member("_exp", string: Timestamp.text(expires)) }
            text.member("_id", escaped: id)
            text.member("_rev", escaped: revision)
            if let history { text.member("_revisions", raw: RevisionHistory.write(history)) }
            if body.count > 2 { text.raw(body.dropFirst().dropLast()) }
        }
        return text.bytes
    }
}
