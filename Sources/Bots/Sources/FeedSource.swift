internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// The feed of a keyspace, with documents: to its end, or for ever.
struct FeedSource: WorkSource {
    /// How long the next request for changes waits, at most, for what the last ones lead to: as long as a gateway takes
    /// for a small write. A longpoll at the same time would make that write slower.
    private static let longestRest: Duration = .milliseconds(20)

    let gateway: Gateway
    let start: SequenceID
    let end: FeedReader.End
    let following: FeedReader.Following
    /// Only these channels of a Sync Gateway. Nil: all that this user may see.
    let channels: [String]?
    /// Whether this process has read from the database before.
    let knowsKeyspace: Bool
    /// Called when the database may be another one now. Nothing is read, or what was read is dropped, if it throws.
    let confirmDatabase: @Sendable () async throws -> Void
    /// Called when a request has ended.
    let noteAnswer: @Sendable () -> Void

    func run(into delivery: Delivery) async throws {
        let progress = delivery.progress
        var reader = FeedReader(
            gateway: gateway, end: end, retries: delivery.settings.retries, logger: delivery.logger,
            noteRetry: { await progress.noteRetry() })
        reader.following = following
        reader.selection.channels = channels
        reader.selection.listsLeaves = delivery.resolvesConflicts
        reader.knowsKeyspace = knowsKeyspace
        reader.listener.confirmDatabase = confirmDatabase
        reader.listener.noteCaughtUp = { await delivery.noteCaughtUp($0) }
        reader.listener.noteAnswer = noteAnswer
        reader.listener.delayNextRequest = { try await progress.untilSettled(atMost: Self.longestRest) }
        let intake = delivery.makeIntake()
        try await reader.read(from: start) { rows, reached in
            try await intake.take(rows, reached: reached)
        }
    }
}
