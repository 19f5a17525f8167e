package import GatewayClient

extension FeedReader {
    /// How to wait for changes once caught up.
    package enum Following: String, Sendable, CaseIterable {
        /// Request after request, each open until something changes, at most 50 s.
        case longpoll
        /// Many changes over one connection, which is renewed every five minutes.
        case continuous
    }

    /// When reading ends.
    package enum End: Sendable {
        /// Goes on for ever.
        case never
        /// Once this sequence is passed: the newest one when the run started. Also at an empty answer; where the feed
        /// lags behind writes, only if the gateway has waited for all of them. Nil (unknown): at the end of the first
        /// answer.
        case caughtUp(with: SequenceID?)
    }

    /// Which changes are read, and what of them.
    package struct Selection: Sendable {
        /// Only these channels of a Sync Gateway. Nil: all that this user may see.
        package var channels: [String]?
        /// Only these documents. Sync Gateway then answers only requests that do not wait for changes. Nil: all.
        package var documentIDs: [DocumentID]?
        /// Rows name all leaf revisions (`style=all_docs`). Default: false.
        package var listsLeaves = false
        /// Rows have the bodies of the documents; where there are several leaves, of the winner. Default: true.
        package var includesDocuments = true
    }

    /// How long the reader waits for what.
    package struct Waits: Sendable {
        /// A request that fails after this long without traffic counts as ended by a proxy.
        package var idleAfter: Duration = .seconds(5)
        /// The longest wait between requests to a feed that makes no progress.
        package var longestPause = FeedPace.longestPause
        /// How long a gateway may take to say that its feed holds all that was written.
        package var longestForWrites: Duration = .seconds(20)
    }

    /// What is called while the feed is read.
    package struct Listener: Sendable {
        /// Called after a failed request once it was waited for, and after an idle one that ended without a status.
        /// Nothing more is read before: the database may be another one now. Throws to end the reading.
        package var confirmDatabase: @Sendable () async throws -> Void = {}
        /// Called when the feed was read to its end (true), and when that is no longer certain (false).
        package var noteCaughtUp: @Sendable (_ isCaughtUp: Bool) async -> Void = { _ in }
        /// Called before the reader waits for more after an answer with changes. It may wait a moment, so that a busy
        /// gateway answers what these changes led to first, and the next changes come together.
        package var delayNextRequest: @Sendable () async throws -> Void = {}
        /// Called when a request has ended, and for each batch of a continuous feed: the machine is awake anyway.
        package var noteAnswer: @Sendable () -> Void = {}
        /// Called for each request that is sent again.
        package var noteRetry: @Sendable () async -> Void
    }
}
