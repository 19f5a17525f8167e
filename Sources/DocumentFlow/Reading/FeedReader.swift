package import GatewayClient
package import Logging

/// Reads a changes feed from a sequence on: what there is in one streamed answer, then as it comes.
///
/// Reconnects by itself, from the last row that was handed over. A cut answer costs nothing but the wait: rows that
/// came before the cut are good.
package struct FeedReader: Sendable {
    /// How changes are waited for once the feed is caught up.
    package enum Following: String, Sendable, CaseIterable {
        /// Request after request, each open until something changes, at most 50 s.
        case longpoll
        /// Change after change over one connection, a new one every five minutes.
        case continuous
    }

    package enum End: Sendable {
        /// Goes on for ever.
        case never
        /// At an answer with nothing in it, or once this sequence is passed: what the feed held at the start. Nil, it
        /// is not known: at the end of the first answer.
        case caughtUp(with: SequenceID?)
    }

    /// A gateway that answers a longpoll at once with nothing must not be asked ten thousand times a second.
    private static let shortestRequest: Duration = .milliseconds(500)

    package let gateway: Gateway
    package let end: End
    package var following = Following.longpoll
    /// Only what is in these channels. Nil: all that this user may see.
    package var channels: [String]?
    /// With each row the names of all its leaves, and no bodies.
    package var listsLeaves = false
    /// The keyspace was there before: if it is missing now it may come back.
    package var knowsKeyspace = false
    /// Whether the end of the feed is told when it is reached, and again after trouble.
    package var tellsCaughtUp = true
    /// From here on a request on which nothing moves and that ends badly is one that a proxy has ended.
    package var idleAfter: Duration = .seconds(5)
    package let retries: RetryPolicy.Settings
    package let logger: Logger
    /// Called for each request that is sent again.
    package let noteRetry: @Sendable () async -> Void

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

    /// Takes the rows of a stretch, if it has any, and the sequence that the feed has reached with them.
    package typealias Delivery = (_ rows: ChangesBatch.SubSequence?, _ reached: SequenceID) async throws -> Void

    /// Hands over stretches of the feed, in order; one without rows only moves the position.
    ///
    /// Returns when the end is reached, throws `CancellationError` when cancelled: a waiting longpoll is aborted at
    /// once, a stretch that is being handed over is handed over to its end.
    ///
    /// - Throws: ``RunFailure``, and whatever `deliver` throws.
    package func read(from start: SequenceID, deliver: Delivery) async throws {
        var progress = Progress(
            position: start,
            retrier: Retrier(RetryPolicy(retries, hasSucceeded: true), logger: logger, noteRetry: noteRetry),
            asked: start, pace: FeedPace(start: start))
        while true {
            try Task.checkCancellation()
            let began = ContinuousClock.now
            progress.hasRows = false
            progress.asked = progress.position
            do {
                try await readAnswer(&progress, deliver)
                noteEnd(of: &progress)
                if isAtEnd(progress) { return noteCaughtUp(&progress) }
                noteCaughtUp(&progress)
                if let pause = progress.hasRows ? progress.pace.pause : Self.shortestRequest,
                    began.duration(to: .now) < pause
                {
                    try await Task.sleep(for: pause)
                }
                progress.retrier.succeed()
                progress.idleEnds = 0
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                noteEnd(of: &progress)
                if progress.hasRows, progress.pace.stalls == 0 { progress.retrier.succeed() }
                // The database is there, this collection of it is not.
                if error.code == .notFound, !progress.hasAnswered, !knowsKeyspace {
                    throw RunFailure(.databaseMissing, error.description)
                }
                if progress.hasCaughtUp, !progress.hasRows, isIdleEnd(error, after: began.duration(to: .now)) {
                    logger.debug("something ended an idle request; asking again", metadata: ["reason": "\(error)"])
                    try await checkAfterIdleEnd(&progress)
                } else {
                    try await wait(after: error, &progress)
                }
            } catch is EndReached {
                return noteCaughtUp(&progress)
            }
        }
    }

    private struct Progress {
        var position: SequenceID
        var retrier: Retrier
        /// The feed was read to its end once: what is new comes one by one.
        var hasCaughtUp = false
        /// There was a proper answer.
        var hasAnswered = false
        /// The answer that was read last brought something.
        var hasRows = false
        /// Where the answer that was read last began.
        var asked: SequenceID
        var pace: FeedPace
        /// Requests in a row that were ended while nothing moved.
        var idleEnds = 0
    }

    private struct EndReached: Error {}

    /// One request and its answer, to its end.
    private func readAnswer(_ progress: inout Progress, _ deliver: Delivery) async throws {
        var answer = try await gateway.changes(request(progress))
        progress.hasAnswered = true
        while let batch = try await answer.next() {
            try await hand(over: batch, &progress, to: deliver)
            if isContinuous(progress) {
                // Such an answer may go on for minutes: its lines are answers of their own.
                noteEnd(of: &progress)
                if let pause = progress.pace.pause { try await Task.sleep(for: pause) }
            }
            // CouchDB's shards pass it one by one: only the end of its answer tells.
            guard gateway.dialect.hasOrderedFeed, !progress.position.isAheadOfOthers else { continue }
            if hasPassedGoal(progress.position) { throw EndReached() }
        }
        if let last = answer.lastSequence {
            progress.position = last
            try await deliver(nil, last)
        }
    }

    private func request(_ progress: Progress) -> ChangesRequest {
        var request = ChangesRequest(
            since: progress.position, feed: feed(progress), includesDocuments: !listsLeaves,
            filter: channels.map { .channels($0) })
        request.listsAllLeaves = listsLeaves
        return request
    }

    private func isContinuous(_ progress: Progress) -> Bool {
        if case .continuous = feed(progress) { true } else { false }
    }

    private func feed(_ progress: Progress) -> ChangesRequest.Feed {
        if case .caughtUp = end { return .normal }
        guard progress.hasCaughtUp else { return .normal }
        switch following {
        case .longpoll: return .longpoll(timeout: ChangesRequest.defaultLongpollTimeout)
        case .continuous: return .continuous(duration: ChangesRequest.longestContinuousFeed)
        }
    }

    /// Hands over the rows up to a `failure` row, and throws there.
    private func hand(
        over batch: ChangesBatch, _ progress: inout Progress, to deliver: Delivery
    ) async throws {
        let rows = batch.prefix(while: { $0.kind != .failure })
        if let reached = rows.last?.sequence {
            if reached.isFarBehind(progress.position), progress.pace.stalls == 0 {
                logger.notice(
                    "the feed went back; going on: what is done already is found so",
                    metadata: ["from": "\(progress.position)", "to": "\(reached)"])
            }
            try await deliver(rows, reached)
            progress.position = reached
            progress.hasRows = true
            progress.pace.add(rows)
        }
        if rows.count < batch.count {
            throw GatewayError(.serverError, "\(gateway.url): the feed reports an error of the gateway's own")
        }
    }

    /// An answer, or what came of it before it was cut, is read. A feed that brings the same again and again is told of
    /// once, until it makes progress.
    private func noteEnd(of progress: inout Progress) {
        let before = progress.pace.stalls
        progress.pace.endAnswer(at: progress.position)
        guard progress.pace.stalls != before, progress.pace.isWorthTelling else { return }
        logger.warning(
            "the feed makes no progress: it brings the same changes again and again; asking less often",
            metadata: ["since": "\(progress.position)"])
    }

    /// The feed was read to its end.
    private func noteCaughtUp(_ progress: inout Progress) {
        retries.outage.end(logger)
        guard !progress.hasCaughtUp else { return }
        progress.hasCaughtUp = true
        if tellsCaughtUp { logger.info("caught up", metadata: ["since": "\(progress.position)"]) }
    }

    private func hasPassedGoal(_ position: SequenceID) -> Bool {
        guard case .caughtUp(let goal?) = end else { return false }
        return position.hasPassed(goal) == true
    }

    /// Behind an answer that came to its proper end. A gateway in trouble may end one early: what it held is not all.
    /// One that does not get on from where it was asked will not do so next time either.
    private func isAtEnd(_ progress: Progress) -> Bool {
        guard case .caughtUp(let goal) = end else { return false }
        return goal == nil || !progress.hasRows || progress.position == progress.asked || progress.pace.isHopeless
            || hasPassedGoal(progress.position)
    }

    /// Proxies end requests on which nothing moves, some with an answer of their own, some without any. A request that
    /// nobody has ended in time is another matter: the connection hangs.
    private func isIdleEnd(_ error: GatewayError, after span: Duration) -> Bool {
        guard span >= idleAfter else { return false }
        return switch error.code {
        case .timedOut: error.status != nil
        case .connectionLost: true
        case .unavailable: [502, 504, 524].contains(error.status)
        default: false
        }
    }

    /// A proxy before a dead gateway ends requests in the same way: now and then the gateway itself must answer.
    private func checkAfterIdleEnd(_ progress: inout Progress) async throws {
        progress.idleEnds += 1
        guard progress.idleEnds.isMultiple(of: 3) else { return }
        do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
            if error.code == .cancelled { throw CancellationError() }
            try await wait(after: error, &progress)
        }
    }

    /// What there is by then is asked for at once: so it shows soon whether the gateway is there again.
    private func wait(after error: GatewayError, _ progress: inout Progress) async throws {
        progress.hasCaughtUp = false
        try await progress.retrier.wait(
            after: error, "the changes feed broke off; going on from the last change", stopsAll: true)
    }
}
