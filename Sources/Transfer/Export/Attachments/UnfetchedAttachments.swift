internal import GatewayClient

/// The attachments of one document that are not fetched yet.
struct UnfetchedAttachments: Sendable {
    let stubs: [AttachmentStub]
    let id: DocumentID
    let revision: RevisionID?
    let isTombstone: Bool
    /// How many times the document was read. One that keeps changing is finally written with the attachments it has.
    let attempt: Int
}
