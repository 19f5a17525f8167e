internal import GatewayClient
internal import LosslessJSON

/// Documents that are not written yet, because attachments are still to come: their own, or those of one before them.
struct WaitingDocuments: Sendable {
    enum Document: Sendable {
        case whole(ArraySlice<UInt8>, isTombstone: Bool)
        case withAttachments(JSONValue, UnfetchedAttachments)
    }

    /// Attachments that are fetched together, so that some are on their way while others are checked and synced.
    private static let fetchedTogether = 16
    /// Most bytes of documents that wait for them.
    private static let byteLimit = 1 << 20

    private(set) var documents: [Document] = []
    private var stubCount = 0
    private var byteCount = 0

    var isEmpty: Bool { documents.isEmpty }

    /// Whether it is time to fetch, and to write.
    var isFull: Bool { stubCount >= Self.fetchedTogether || byteCount >= Self.byteLimit }

    mutating func append(_ document: JSONValue, _ attachments: UnfetchedAttachments) {
        documents.append(.withAttachments(document, attachments))
        stubCount += attachments.stubs.count
        byteCount += document.range.count
    }

    mutating func append(whole document: ArraySlice<UInt8>, isTombstone: Bool) {
        documents.append(.whole(document, isTombstone: isTombstone))
        byteCount += document.count
    }

    /// Of all documents, in their order.
    var unfetched: [UnfetchedAttachments] {
        documents.compactMap { document in
            if case .withAttachments(_, let attachments) = document { attachments } else { nil }
        }
    }
}
