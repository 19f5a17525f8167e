package import GatewayClient
package import Logging

/// Reads a changes feed from a sequence: the backlog in one streamed answer, then changes as they happen.
///
/// Reconnects by itself after the last row that was delivered. Rows before a cut are kept, so a cut costs only the
/// wait.
package struct FeedReader: Sendable {
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

    /// The shortest time between longpolls, for gateways that answer them at once with nothing.
    private static let shortestRequest: Duration = .milliseconds(500)

    /// The keyspace whose feed is read.
    package let gateway: Gateway
    /// Decides the kind of request, too: a one-shot run never waits for changes.
    package let end: End
    /// How to wait for changes if ``end`` is `.never`. Default: longpoll.
    package var following = Following.longpoll
    /// Only these channels of a Sync Gateway. Nil: all that this user may see.
    package var channels: [String]?
    /// Only these documents. Sync Gateway then answers only requests that do not wait for changes. Nil: all.
    package var documentIDs: [DocumentID]?
    /// Rows name all leaf revisions (`style=all_docs`). Default: false.
    package var listsLeaves = false
    /// Rows have the bodies of the documents; where there are several leaves, of the winner. Default: true.
    package var includesDocuments = true
    /// The keyspace existed before: a 404 is retried.
    package var knowsKeyspace = false
    /// Whether `caught up` is logged at the end of the feed, also again after an outage.
    package var logsCaughtUp = true
    /// A request that fails after this long without traffic counts as ended by a proxy.
    package var idleAfter: Duration = .seconds(5)
    /// The longest wait between requests to a feed that makes no progress.
    package var longestPause = FeedPace.longestPause
    /// How long a gateway may take to say that its feed holds all that was written.
    package var longestWaitForWrites: Duration = .seconds(20)
    /// Called after a failed request once it was waited for, and after an idle one that ended without a status. Nothing
    /// more is read before: the database may be another one now. Throws to end the reading.
    package var confirmDatabase: @Sendable () async throws -> Void = {}
    /// Called when the feed was read to its end (true), and when that is no longer certain (false).
    package var noteStanding: @Sendable (_ isCaughtUp: Bool) async -> Void = { _ in }
    /// Called before the reader waits for more after an answer with changes. It may wait a moment, so that a busy gateway
    /// answers what these changes led to first, and the next changes come together.
    package var letWork: @Sendable () async throws -> Void = {}
    /// Called when a request has ended, and for each batch of a continuous feed: the machine is awake anyway.
    package var noteAnswer: @Sendable () -> Void = {}
    /// How failed requests are retried. Its outage is shared with the other tasks of the run.
    package let retries: RetryPolicy.Settings
    /// Logs retries, stalls and `caught up`.
    package let logger: Logger
    /// Called for each request that is sent again.
    package let noteRetry: @Sendable () async -> Void

    /// - Parameter noteRetry: Called for each request that is sent again.
    package init(
        gateway: Gateway, end: End, retries: RetryPolicy.Settings, logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.gateway = gateway
        self.end = end
        self.retries = retries
        self.logger = logger
        self.noteRetry = noteRetry
    }

    /// Takes a batch of rows, nil if only the position moved, and the sequence that the feed has reached.
    package typealias Receive = (_ rows: ChangesBatch.SubSequence?, _ reached: SequenceID) async throws -> Void

    /// Delivers the feed in batches, in order; one without rows only moves the position.
    ///
    /// Returns at ``end``. Cancelling aborts a waiting longpoll at once; a delivery in progress is completed first.
    ///
    /// - Throws: ``RunError``, `CancellationError`, and whatever `deliver` throws.
    package func read(from start: SequenceID, deliver receive: Receive) async throws {
        var progress = Progress(
            position: start,
            retrier: Retrier(RetryPolicy.ofKnownGateway(retries), logger: logger, noteRetry: noteRetry),
            asked: start, pace: FeedPace(start: start, longestPause: longestPause))
        while true {
            try Task.checkCancellation()
            let began = ContinuousClock.now
            progress.hasRows = false
            progress.asked = progress.position
            do {
                try await readAnswer(&progress, receive)
                noteEnd(of: &progress)
                if isAtEnd(progress) { return await noteCaughtUp(&progress) }
                await noteCaughtUp(&progress)
                progress.awaitsWrites = isOneShot && (progress.awaitsWrites || progress.isAtRest)
                if !progress.awaitsWrites, let pause = progress.hasRows ? progress.pace.pause : Self.shortestRequest,
                    began.duration(to: .now) < pause
                {
                    try await Task.sleep(for: pause)
                }
                progress.retrier.succeed()
                progress.idleEnds = 0
                if progress.hasRows { try await letWork() }
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                noteEnd(of: &progress)
                if progress.hasRows, progress.pace.answersWithoutProgress == 0 { progress.retrier.succeed() }
                if error.code == .notFound, !progress.hasAnswered, !knowsKeyspace,
                    try await isCollectionMissing(&progress)
                {
                    throw RunError(.databaseMissing, error.description)
                }
                if progress.awaitsWrites, !progress.hasRows, error.code == .timedOut, error.status == nil {
                    logger.notice(
                        "the gateway did not confirm that its feed is complete; the next run brings what may be missing",
                        metadata: [LogKey.since: "\(progress.position)"])
                    return await noteCaughtUp(&progress)
                }
                if progress.hasCaughtUp, !progress.hasRows, isIdleEnd(error, after: began.duration(to: .now)) {
                    logger.debug(
                        "an idle request was ended on the way; asking again", metadata: [LogKey.reason: "\(error)"])
                    try await checkAfterIdleEnd(error, &progress)
                } else {
                    try await wait(after: error, &progress)
                }
            } catch is EndReached {
                return await noteCaughtUp(&progress)
            }
        }
    }

    private struct Progress {
        var position: SequenceID
        var retrier: Retrier
        /// The feed was read to its end once; from here on the reader waits for changes.
        var hasCaughtUp = false
        /// There was a valid answer.
        var hasAnswered = false
        /// The last answer had rows.
        var hasRows = false
        /// The `since` of the last request.
        var asked: SequenceID
        var pace: FeedPace
        /// Consecutive requests that ended while idle.
        var idleEnds = 0
        /// Whether requests of a one-shot run wait until the feed holds all that was written.
        var awaitsWrites = false

        /// How often the keyspace was missing in an existing database, before the first answer.
        var missingInDatabase = 0

        /// Whether the last answer did not move past its `since`.
        var isAtRest: Bool { !hasRows || position == asked }
    }

    private struct EndReached: Error {}

    /// One request and its answer, to its end.
    private func readAnswer(_ progress: inout Progress, _ receive: Receive) async throws {
        var answer = try await gateway.changes(request(progress))
        progress.hasAnswered = true
        while let batch = try await answer.next() {
            try await deliver(batch, &progress, to: receive)
            if isContinuous(progress) {
                // This answer may go on for minutes: treat each batch as an answer of its own.
                noteEnd(of: &progress)
                if let pause = progress.pace.pause { try await Task.sleep(for: pause) }
            }
            // CouchDB's shards pass the goal one by one: only the end of the answer is certain.
            // L::S: changes between L and S are still to come.
            guard gateway.dialect.hasOrderedFeed, !progress.position.isAheadOfOthers else { continue }
            if hasPassedGoal(progress.position) { throw EndReached() }
        }
        // `last_seq` is a string where rows have numbers.
        if let last = answer.lastSequence?.spelled(like: progress.position) {
            progress.position = last
            try await receive(nil, last)
        }
    }

    private func request(_ progress: Progress) -> ChangesRequest {
        var request = ChangesRequest(
            since: progress.position, feed: feed(progress), includesDocuments: includesDocuments,
            filter: documentIDs.map { .documents($0) } ?? channels.map { .channels($0) })
        request.listsAllLeaves = listsLeaves
        request.longestWaitForWrites = progress.awaitsWrites ? longestWaitForWrites : nil
        return request
    }

    private func isContinuous(_ progress: Progress) -> Bool {
        if case .continuous = feed(progress) { true } else { false }
    }

    private var isOneShot: Bool { if case .caughtUp = end { true } else { false } }

    private func feed(_ progress: Progress) -> ChangesRequest.Feed {
        if isOneShot { return .normal }
        guard progress.hasCaughtUp else { return .normal }
        switch following {
        case .longpoll: return .longpoll(timeout: ChangesRequest.defaultLongpollTimeout)
        case .continuous: return .continuous(duration: ChangesRequest.longestContinuousFeed)
        }
    }

    /// Delivers the rows up to a `failure` row, and throws there.
    private func deliver(
        _ batch: ChangesBatch, _ progress: inout Progress, to receive: Receive
    ) async throws {
        let rows = batch.prefix(while: { $0.kind != .failure })
        if let reached = rows.last?.sequence {
            if reached.isFarBehind(progress.position), progress.pace.answersWithoutProgress == 0 {
                logger.notice(
                    "the feed went back to earlier sequences; continuing: changes that are already processed are skipped",
                    metadata: [LogKey.from: "\(progress.position)", LogKey.to: "\(reached)"])
            }
            try await receive(rows, reached)
            let before = progress.position
            progress.position = reached
            progress.hasRows = true
            // Rows without sequences of their own move nothing: only the end of the answer shows progress.
            if reached != before || !isContinuous(progress) { progress.pace.add(rows) }
        }
        if rows.count < batch.count {
            throw GatewayError(
                .serverError,
                "\(gateway.url): the feed reports an internal error of the gateway; read the gateway's log")
        }
    }

    /// An answer, or its part before a cut, has been read. Logs once that the feed repeats itself, until it makes
    /// progress.
    private func noteEnd(of progress: inout Progress) {
        noteAnswer()
        let before = progress.pace.answersWithoutProgress
        progress.pace.endAnswer(at: progress.position)
        guard progress.pace.answersWithoutProgress != before, progress.pace.shouldLog else { return }
        logger.warning(
            "the feed makes no progress: it brings the same changes again and again; asking less often",
            metadata: [LogKey.since: "\(progress.position)"])
    }

    /// The feed was read to its end.
    private func noteCaughtUp(_ progress: inout Progress) async {
        retries.outage.end(logger)
        guard !progress.hasCaughtUp else { return }
        progress.hasCaughtUp = true
        await noteStanding(true)
        if logsCaughtUp { logger.info("caught up", metadata: [LogKey.since: "\(progress.position)"]) }
    }

    private func hasPassedGoal(_ position: SequenceID) -> Bool {
        guard case .caughtUp(let goal?) = end else { return false }
        return position.hasPassed(goal) == true
    }

    /// Called after a complete answer. A gateway in trouble may end an answer early, so its end is not always the
    /// feed's. The end of an answer that did not move past its `since` is, if the feed holds all that was written.
    private func isAtEnd(_ progress: Progress) -> Bool {
        guard case .caughtUp(let goal) = end else { return false }
        return goal == nil || progress.pace.hasStalledTooLong || hasPassedGoal(progress.position)
            || progress.isAtRest && (progress.awaitsWrites || !gateway.dialect.feedLagsBehindWrites)
    }

    /// Proxies end idle requests, some with an answer of their own, some without. A request that this client timed out
    /// is different: its connection hangs.
    private func isIdleEnd(_ error: GatewayError, after span: Duration) -> Bool {
        guard span >= idleAfter else { return false }
        return switch error.code {
        case .timedOut: error.status != nil
        case .connectionLost: true
        case .unavailable: [502, 504, 524].contains(error.status)
        default: false
        }
    }

    /// A proxy before a dead gateway ends requests in the same way, so every third time the gateway itself must answer.
    private func checkAfterIdleEnd(_ error: GatewayError, _ progress: inout Progress) async throws {
        progress.idleEnds += 1
        // Without an answer of a proxy, the gateway itself may have been restarted.
        if error.status == nil { try await confirmDatabase() }
        guard progress.idleEnds.isMultiple(of: 3) else { return }
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            try await wait(after: error, &progress)
        }
    }

    /// Whether the database exists, and this collection does not. Asked twice, because a database that vanishes may be
    /// created again between two requests. Without its database, a collection is waited for like after an outage.
    private func isCollectionMissing(_ progress: inout Progress) async throws -> Bool {
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            return false
        }
        progress.missingInDatabase += 1
        return progress.missingInDatabase > 1
    }

    /// The next request does not wait for changes, so it shows soon whether the gateway is back.
    private func wait(after error: GatewayError, _ progress: inout Progress) async throws {
        if progress.hasCaughtUp { await noteStanding(false) }
        progress.hasCaughtUp = false
        try await progress.retrier.wait(
            after: error, "the changes feed was interrupted; continuing after the last change", stopsAll: true)
        try await confirmDatabase()
    }
}
