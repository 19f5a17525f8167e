package import GatewayClient
package import Logging

/// Reads a changes feed from a sequence: the backlog as one streamed answer, then new changes as they happen.
///
/// Reconnects automatically after the last delivered row. Rows before a connection loss are kept, so it costs only the
/// wait.
package struct FeedReader: Sendable {
    /// The shortest time between longpolls, for gateways that return empty answers at once.
    private static let minRequestTime: Duration = .milliseconds(500)

    /// The keyspace whose feed is read.
    package let gateway: Gateway
    /// Also determines the kind of request: a one-shot run never waits for changes.
    package let end: End
    /// How to wait for changes if ``end`` is `.never`. Default: longpoll.
    package var following = FeedMode.longpoll
    /// Which changes are read, and what each row contains.
    package var selection = Selection()
    /// The keyspace existed before: a 404 is retried.
    package var knowsKeyspace = false
    /// Whether `caught up` is logged at the end of the feed, also after an outage.
    package var logsCaughtUp = true
    /// The reader's time limits.
    package var waits = Waits()
    /// The callbacks.
    package var listener: Listener
    /// How failed requests are retried. Its outage is shared with the other tasks of the run.
    package let retries: RetryPolicy.Settings
    /// Logs retries, stalls and `caught up`.
    package let logger: Logger

    /// - Parameter noteRetry: Called for each request that is sent again.
    package init(
        gateway: Gateway, end: End, retries: RetryPolicy.Settings, logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.gateway = gateway
        self.end = end
        self.retries = retries
        self.logger = logger
        listener = Listener(noteRetry: noteRetry)
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
            retrier: Retrier(RetryPolicy.forKnownGateway(retries), logger: logger, noteRetry: listener.noteRetry),
            lastSince: start, pace: FeedPace(start: start, maxPause: waits.maxPause))
        while true {
            try Task.checkCancellation()
            let began = ContinuousClock.now
            progress.hasRows = false
            progress.lastSince = progress.position
            do {
                try await readAnswer(&progress, receive)
                if try await endAnswer(&progress, began) { return }
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                if try await endAnswer(&progress, began, error) { return }
            } catch is EndReached {
                return await noteCaughtUp(&progress)
            }
        }
    }

    /// Handles the end of a complete answer. Waits if an empty answer came at once, or if the feed makes no progress.
    ///
    /// - Returns: Whether reading is finished.
    private func endAnswer(_ progress: inout Progress, _ began: ContinuousClock.Instant) async throws -> Bool {
        noteEnd(of: &progress)
        let isAtEnd = isAtEnd(progress)
        await noteCaughtUp(&progress)
        guard !isAtEnd else { return true }
        progress.awaitsWrites = isOneShot && (progress.awaitsWrites || progress.hasNoProgress)
        if !progress.awaitsWrites, let pause = progress.hasRows ? progress.pace.pause : Self.minRequestTime,
            began.duration(to: .now) < pause
        {
            try await Task.sleep(for: pause)
        }
        progress.retrier.succeed()
        progress.consecutiveIdleEnds = 0
        if progress.hasRows { try await listener.delayNextRequest() }
        return false
    }

    /// Handles a failed request or a cut answer. Waits until the next request may be sent.
    ///
    /// - Returns: Whether reading is finished nevertheless.
    private func endAnswer(
        _ progress: inout Progress, _ began: ContinuousClock.Instant, _ error: GatewayError
    ) async throws -> Bool {
        noteEnd(of: &progress)
        if progress.hasRows, progress.pace.answersWithoutProgress == 0 { progress.retrier.succeed() }
        if !progress.hasAnswered, !knowsKeyspace, try await isCollectionMissing(error, &progress) {
            throw RunError(.databaseMissing, error.description)
        }
        if progress.awaitsWrites, !progress.hasRows, error.code == .timedOut, error.status == nil {
            logger.notice(
                "the gateway did not confirm that its feed is complete; the next run reads any missing changes",
                metadata: [LogKey.since: "\(progress.position)"])
            await noteCaughtUp(&progress)
            return true
        }
        if progress.hasCaughtUp, !progress.hasRows, isIdleEnd(error, after: began.duration(to: .now)) {
            logger.debug("a proxy ended an idle request; repeating it", metadata: [LogKey.reason: "\(error)"])
            try await checkAfterIdleEnd(error, &progress)
        } else {
            try await wait(after: error, &progress)
        }
        return false
    }

    private struct Progress {
        var position: SequenceID
        var retrier: Retrier
        /// Whether the feed was read to its end. From then on, the reader waits for changes.
        var hasCaughtUp = false
        /// Whether there was a valid answer.
        var hasAnswered = false
        /// Whether the last answer had rows.
        var hasRows = false
        /// The `since` of the last request.
        var lastSince: SequenceID
        var pace: FeedPace
        /// Consecutive requests that ended while idle.
        var consecutiveIdleEnds = 0
        /// Whether requests of a one-shot run wait until the feed contains all writes.
        var awaitsWrites = false

        /// How often the keyspace was missing in an existing database, before the first answer.
        var missingKeyspaceCount = 0

        /// Whether the last answer did not advance past its `since`.
        var hasNoProgress: Bool { !hasRows || position == lastSince }
    }

    private struct EndReached: Error {}

    /// Sends one request and reads its whole answer.
    private func readAnswer(_ progress: inout Progress, _ receive: Receive) async throws {
        await listener.noteRequest()
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
            since: progress.position, feed: feed(progress), includesDocuments: selection.includesDocuments,
            filter: selection.documentIDs.map { .documents($0) } ?? selection.channels.map { .channels($0) })
        request.listsAllLeaves = selection.listsLeaves
        request.includesRevocations = selection.includesRevocations
        request.maxWaitForWrites = progress.awaitsWrites ? waits.maxWaitForWrites : nil
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
        case .continuous: return .continuous(duration: ChangesRequest.maxContinuousFeedTime)
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
        listener.noteAnswer()
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
        await listener.noteCaughtUp(true)
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
            || progress.hasNoProgress && (progress.awaitsWrites || !gateway.dialect.feedLagsBehindWrites)
    }

    /// Whether a proxy ended an idle request, with or without a response. If this client timed out instead, its
    /// connection hangs.
    private func isIdleEnd(_ error: GatewayError, after span: Duration) -> Bool {
        guard span >= waits.idleAfter else { return false }
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
        progress.consecutiveIdleEnds += 1
        // Without a proxy's response, the gateway itself may have restarted.
        if error.status == nil { try await listener.confirmDatabase() }
        guard progress.consecutiveIdleEnds.isMultiple(of: 3) else { return }
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            try await wait(after: error, &progress)
        }
    }

    /// Whether the gateway says that this collection does not exist, although its database does. Checked twice, because
    /// a missing database may be recreated between two requests. After any other 404, the reader waits as after an
    /// outage: the database has answered before.
    private func isCollectionMissing(_ error: GatewayError, _ progress: inout Progress) async throws -> Bool {
        guard error.cause == .collectionMissing, gateway.url.keyspace.isNamedCollection else { return false }
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            return false
        }
        progress.missingKeyspaceCount += 1
        return progress.missingKeyspaceCount > 1
    }

    /// The next request does not wait for changes, so it soon shows whether the gateway is available again.
    private func wait(after error: GatewayError, _ progress: inout Progress) async throws {
        if progress.hasCaughtUp { await listener.noteCaughtUp(false) }
        progress.hasCaughtUp = false
        try await progress.retrier.wait(
            after: error, "the changes feed was interrupted; continuing after the last change", stopsAll: true)
        try await listener.confirmDatabase()
    }
}
