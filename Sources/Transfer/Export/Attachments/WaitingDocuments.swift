internal import GatewayClient
internal import LosslessJSON

/// Documents that can't be written yet, because attachments of theirs, or of a document before them, are missing.
struct WaitingDocuments: Sendable {
    enum Document: Sendable {
        case whole(ArraySlice<UInt8>, isTombstone: Bool)
        case withAttachments(JSONValue, UnfetchedAttachments)
    }

    /// Attachments fetched in one go, so that some arrive while others are checked and synced.
    private static let fetchedTogether = 16
    /// The most bytes of documents to hold back.
    private static let byteLimit = 1 << 20

    private(set) var documents: [Document] = []
    private var stubCount = 0
    private var byteCount = 0

    var isEmpty: Bool { documents.isEmpty }

    /// Whether to fetch and write now.
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

    /// The unfetched attachments of all documents, in order.
    var unfetched: [UnfetchedAttachments] {
        documents.compactMap { document in
            if case .withAttachments(_, let attachments) = document { attachments } else { nil }
        }
    }
}
