package import GatewayClient
package import Logging

/// Reads a changes feed from a sequence: the backlog as one streamed answer, then new changes as they happen.
///
/// Reconnects automatically after the last delivered row. Rows before a connection loss are kept, so it costs only the
/// wait.
package struct FeedReader: Sendable {
    /// How to wait for changes after catching up.
    package enum Following: String, Sendable, CaseIterable {
        /// One request after another, each open until something changes, at most 50 s.
        case longpoll
        /// Many changes over one connection, which is renewed every five minutes.
        case continuous
    }

    /// When reading ends.
    package enum End: Sendable {
        /// Never.
        case never
        /// Once this sequence is passed: the newest one when the run started. Also at an empty answer; but if the feed
        /// lags behind writes, only after the gateway has waited for all of them. Nil (unknown): at the end of the
        /// first answer.
        case caughtUp(with: SequenceID?)
    }

    /// The shortest time between longpolls, for gateways that return empty answers at once.
    private static let shortestRequest: Duration = .milliseconds(500)

    /// The keyspace whose feed is read.
    package let gateway: Gateway
    /// Also determines the kind of request: a one-shot run never waits for changes.
    package let end: End
    /// How to wait for changes if ``end`` is `.never`. Default: longpoll.
    package var following = Following.longpoll
    /// Only these channels of a Sync Gateway. Nil: all that this user may see.
    package var channels: [String]?
    /// Only these documents. Sync Gateway accepts this only in requests that do not wait for changes. Nil: all.
    package var documentIDs: [DocumentID]?
    /// Whether rows list all leaf revisions (`style=all_docs`). Default: false.
    package var listsLeaves = false
    /// Whether rows contain the documents' bodies. If there are several leaves, the winner's. Default: true.
    package var includesDocuments = true
    /// Whether the keyspace existed before: a 404 is then retried.
    package var knowsKeyspace = false
    /// Whether `caught up` is logged at the end of the feed, also after an outage.
    package var logsCaughtUp = true
    /// A request that fails after this time without traffic is assumed to have been ended by a proxy.
    package var idleAfter: Duration = .seconds(5)
    /// The longest wait between requests to a feed that makes no progress.
    package var longestPause = FeedPace.longestPause
    /// How long a gateway may take to confirm that its feed contains all writes.
    package var longestWaitForWrites: Duration = .seconds(20)
    /// Called after the wait for a failed request, and after an idle request that ended without a status. Reading
    /// continues only after it returns, because the database may have been replaced. Throws to end the reading.
    package var confirmDatabase: @Sendable () async throws -> Void = {}
    /// Called with true when the feed was read to its end, and with false when that is no longer certain.
    package var noteStanding: @Sendable (_ isCaughtUp: Bool) async -> Void = { _ in }
    /// Called after an answer with changes, before the next request. May wait a moment so that a busy gateway first
    /// handles the results of these changes; the next changes then arrive together.
    package var delayNextRequest: @Sendable () async throws -> Void = {}
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

    /// Takes a batch of rows and the sequence that the feed has reached. No rows: only the position has changed.
    package typealias Receive = (_ rows: ChangesBatch.SubSequence?, _ reached: SequenceID) async throws -> Void

    /// Delivers the feed in batches, in order. A batch without rows only advances the position.
    ///
    /// Returns at ``end``. Cancellation aborts a waiting longpoll at once, but completes a delivery in progress.
    ///
    /// - Throws: ``RunError``, `CancellationError`, and any error of `deliver`.
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
                if progress.hasRows { try await delayNextRequest() }
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
                        "the gateway did not confirm that its feed is complete; the next run reads any missing changes",
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
        /// The feed was read to its end once; since then the reader waits for changes.
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
        /// Whether requests of a one-shot run wait until the feed contains all writes.
        var awaitsWrites = false

        /// How often the keyspace was missing in an existing database, before the first answer.
        var missingInDatabase = 0

        /// Whether the last answer did not advance past its `since`.
        var isAtRest: Bool { !hasRows || position == asked }
    }

    private struct EndReached: Error {}

    /// Sends one request and reads its whole answer.
    private func readAnswer(_ progress: inout Progress, _ receive: Receive) async throws {
        var answer = try await gateway.changes(request(progress))
        progress.hasAnswered = true
        while let batch = try await answer.next() {
            try await deliver(batch, &progress, to: receive)
            if isContinuous(progress) {
                // This answer may last for minutes, so each batch counts as an answer.
                noteEnd(of: &progress)
                if let pause = progress.pace.pause { try await Task.sleep(for: pause) }
            }
            // CouchDB's shards pass the goal separately, so only the end of the answer is certain.
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
            // Rows without sequences don't advance the position: only the end of the answer shows progress.
            if reached != before || !isContinuous(progress) { progress.pace.add(rows) }
        }
        if rows.count < batch.count {
            throw GatewayError(
                .serverError,
                "\(gateway.url): the feed reports an internal error of the gateway; read the gateway's log")
        }
    }

    /// Called at the end of an answer, or of its part before a connection loss. Logs once that the feed repeats itself,
    /// until it makes progress.
    private func noteEnd(of progress: inout Progress) {
        noteAnswer()
        let before = progress.pace.answersWithoutProgress
        progress.pace.endAnswer(at: progress.position)
        guard progress.pace.answersWithoutProgress != before, progress.pace.shouldLog else { return }
        logger.warning(
            "the feed makes no progress: it repeats the same changes; polling less often",
            metadata: [LogKey.since: "\(progress.position)"])
    }

    /// Called when the feed was read to its end.
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

    /// Called after a complete answer. A gateway in trouble may end an answer early, so the end of an answer is not
    /// always the end of the feed. It is if the answer did not advance past its `since` and the feed contains all
    /// writes.
    private func isAtEnd(_ progress: Progress) -> Bool {
        guard case .caughtUp(let goal) = end else { return false }
        return goal == nil || progress.pace.hasStalledTooLong || hasPassedGoal(progress.position)
            || progress.isAtRest && (progress.awaitsWrites || !gateway.dialect.feedLagsBehindWrites)
    }

    /// Whether a proxy ended an idle request, with or without a response. If this client timed out instead, its
    /// connection hangs.
    private func isIdleEnd(_ error: GatewayError, after span: Duration) -> Bool {
        guard span >= idleAfter else { return false }
        return switch error.code {
        case .timedOut: error.status != nil
        case .connectionLost: true
        case .unavailable: [502, 504, 524].contains(error.status)
        default: false
        }
    }

    /// A proxy in front of a dead gateway also ends requests this way, so every third time the gateway itself must
    /// answer.
    private func checkAfterIdleEnd(_ error: GatewayError, _ progress: inout Progress) async throws {
        progress.idleEnds += 1
        // Without a proxy's response, the gateway itself may have restarted.
        if error.status == nil { try await confirmDatabase() }
        guard progress.idleEnds.isMultiple(of: 3) else { return }
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            try await wait(after: error, &progress)
        }
    }

    /// Whether the database exists but this collection does not. Checked twice, because a missing database may be
    /// recreated between two requests. If the database is also missing, the reader waits as after an outage.
    private func isCollectionMissing(_ progress: inout Progress) async throws -> Bool {
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            return false
        }
        progress.missingInDatabase += 1
        return progress.missingInDatabase > 1
    }

    /// The next request does not wait for changes, so it soon shows whether the gateway is available again.
    private func wait(after error: GatewayError, _ progress: inout Progress) async throws {
        if progress.hasCaughtUp { await noteStanding(false) }
        progress.hasCaughtUp = false
        try await progress.retrier.wait(
            after: error, "the changes feed was interrupted; continuing after the last change", stopsAll: true)
        try await confirmDatabase()
    }
}
