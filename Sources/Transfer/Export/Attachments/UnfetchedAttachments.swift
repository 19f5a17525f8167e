internal import GatewayClient

/// The attachments of one document, whose bytes are elsewhere.
struct UnfetchedAttachments: Sendable {
    let stubs: [AttachmentStub]
    let id: DocumentID
    let revision: RevisionID?
    let isTombstone: Bool
    /// How often the document was read; one that changes all the time is written in the end with what there is of it.
    let attempt: Int
}
