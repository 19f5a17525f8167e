internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// The feed of a keyspace, with documents: up to its end, or without end.
struct FeedSource: WorkSource {
    /// How long the next feed request waits, at most, for the writes of the last changes. A gateway takes about this
    /// long for a small write, and a concurrent longpoll would slow it down.
    private static let maxWriteWait: Duration = .milliseconds(20)

    let gateway: Gateway
    let start: SequenceID
    let end: FeedReader.End
    let following: FeedReader.FeedMode
    /// Only these Sync Gateway channels. Nil: all channels that this user may read.
    let channels: [String]?
    /// Whether this process has read from the database before.
    let knowsKeyspace: Bool
    /// Called when the database may have been replaced. If it throws, nothing is read, and rows already read are
    /// dropped.
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
        reader.selection.includesRevocations = delivery.tracksMatches && gateway.dialect.reportsRevocations
        reader.knowsKeyspace = knowsKeyspace
        reader.listener.confirmDatabase = confirmDatabase
        reader.listener.noteCaughtUp = { await delivery.noteCaughtUp($0) }
        reader.listener.noteRequest = delivery.noteRequest
        reader.listener.noteAnswer = noteAnswer
        reader.listener.delayNextRequest = { try await progress.waitUntilSettled(atMost: Self.maxWriteWait) }
        let intake = delivery.makeIntake()
        try await reader.read(from: start) { rows, reached in
            try await intake.take(rows, reached: reached)
        }
    }
}
