package import GatewayClient

extension FeedReader {
    /// How to wait for changes once caught up.
    package enum FeedMode: String, Sendable, CaseIterable {
        /// One request after another, each open until something changes, at most 50 s.
        case longpoll
        /// One connection for all changes, which is renewed every five minutes.
        case continuous
    }

    /// When reading ends.
    package enum End: Sendable {
        case never
        /// Once this sequence is passed: the newest one when the run started. Also at an empty answer; but if the feed
        /// lags behind writes, only if the gateway has waited for all writes. Nil (unknown): at the end of the first
        /// answer.
        case caughtUp(with: SequenceID?)
    }

    /// Which changes are read, and what each row contains.
    package struct Selection: Sendable {
        /// Only these Sync Gateway channels. Nil: all channels that this user may read.
        package var channels: [String]?
        /// Only these documents. Sync Gateway then only supports requests that do not wait for changes. Nil: all.
        package var documentIDs: [DocumentID]?
        /// Rows name all leaf revisions (`style=all_docs`). Default: false.
        package var listsLeaves = false
        /// Rows report documents to which this user lost access (Sync Gateway's `revocations`). Default: false.
        package var includesRevocations = false
        /// Rows have the bodies of the documents, in a conflict that of the winner. Default: true.
        package var includesDocuments = true
    }

    /// The reader's time limits.
    package struct Waits: Sendable {
        /// A request that fails after this long without traffic counts as ended by a proxy.
        package var idleAfter: Duration = .seconds(5)
        /// The longest wait between requests to a feed that makes no progress.
        package var maxPause = FeedPace.maxPause
        /// How long a gateway may take to confirm that its feed contains all writes.
        package var maxWaitForWrites: Duration = .seconds(20)
    }

    /// Callbacks while the feed is read.
    package struct Listener: Sendable {
        /// Called before the next request after a failure, and after an idle request that ended without a status,
        /// because the database may have been replaced. Throws to end the reading.
        package var confirmDatabase: @Sendable () async throws -> Void = {}
        /// Called when the feed was read to its end (true), and when that is no longer certain (false).
        package var noteCaughtUp: @Sendable (_ isCaughtUp: Bool) async -> Void = { _ in }
        /// Called before the next request after an answer with changes. It may wait a moment, so that a busy gateway
        /// first processes the writes that these changes caused, and the next changes arrive together.
        package var delayNextRequest: @Sendable () async throws -> Void = {}
        /// Called before each request is sent, after all rows of the earlier answers were delivered.
        package var noteRequest: @Sendable () async -> Void = {}
        /// Called when a request has ended, and for each batch of a continuous feed: the process is awake anyway.
        package var noteAnswer: @Sendable () -> Void = {}
        /// Called for each request that is sent again.
        package var noteRetry: @Sendable () async -> Void
    }
}
