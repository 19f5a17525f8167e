internal import Delivery
internal import DocumentFlow
package import GatewayClient
internal import Logging

/// What a pass reads.
package enum PassSource: Sendable {
    /// Each live document once.
    case allDocuments
    /// The changes after this sequence, up to the newest one.
    case changes(since: SequenceID, channels: [String]?)
    /// A part of the documents.
    case backfill(BackfillPart)

    /// Where the feed is read from; any sequence without a feed.
    var start: SequenceID { if case .changes(let since, _) = self { since } else { .start } }

    var isChanges: Bool { if case .changes = self { true } else { false } }
    var isAllDocuments: Bool { if case .allDocuments = self { true } else { false } }

    /// - Parameter noteAnswer: Called when a request for the feed has ended.
    func makeSource(
        _ gateway: Gateway, _ info: DatabaseInfo, noteAnswer: @escaping @Sendable () -> Void
    ) -> any WorkSource {
        switch self {
        case .allDocuments: ListSource(gateway: gateway, info: info)
        case .backfill(let part): BackfillSource(gateway: gateway, info: info, part: part)
        // A reset is noticed at the end.
        case .changes(let since, let channels):
            FeedSource(
                gateway: gateway, start: since, end: .caughtUp(with: info.newestSequence), following: .longpoll,
                channels: channels, knowsKeyspace: true, confirmDatabase: {}, noteAnswer: noteAnswer)
        }
    }
}
