internal import GatewayClient
internal import LosslessJSON

/// A revision that is ready to be sent.
package struct PreparedRevision: Sendable {
    package let revision: ReplicatedRevision
    package private(set) var body: [UInt8]
    var uploads: [SpooledUpload] = []
    package internal(set) var sentAttachments = 0
    package internal(set) var keptAttachments = 0

    package init(_ revision: ReplicatedRevision, _ body: [UInt8]) {
        self.revision = revision
        self.body = body
    }

    /// The same revision with `_exp`. Sync Gateway clears a document's expiry with each write that lacks it.
    ///
    /// - Parameter expiry: JSON text; nil: unchanged.
    package func expiring(_ expiry: [UInt8]?) -> PreparedRevision {
        guard let expiry, let text = try? JSONText(body) else { return self }
        var revision = self
        revision.body = text.expiring(expiry).bytes
        return revision
    }

    var id: RevisionID { revision.key.revision ?? RevisionID("") }
    var document: BulkDocument { BulkDocument(id: revision.key.id, segments: [body]) }
    /// The bytes of the attachments that are sent separately from the document.
    package var uploadedByteCount: Int { uploads.reduce(0) { $0 + $1.byteCount } }
    /// Whether some attachments are stubs, for which the target must have the bytes. CouchDB refuses a whole request
    /// for a single stub that it can't resolve.
    var hasStubs: Bool { keptAttachments > 0 }
    package var mustBeSentAlone: Bool { hasStubs || !uploads.isEmpty }
}
