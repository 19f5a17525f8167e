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

    /// A gateway that answers a longpoll at once with nothing, or with the same page again and again, must not be asked
    /// ten thousand times a second.
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
    /// From here on a request on which nothing moves and that ends badly is one that a proxy has ended.
    package var idleAfter: Duration = .seconds(5)
    package let patience: Patience.Settings
    package let logger: Logger
    /// Called for each request that is sent again.
    package let noteRetry: @Sendable () async -> Void

    package init(
        gateway: Gateway, end: End, patience: Patience.Settings, logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.gateway = gateway
        self.end = end
        self.patience = patience
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
            position: start, patience: Patience(patience, hasSucceeded: true), asked: start)
        while true {
            try Task.checkCancellation()
            let began = ContinuousClock.now
            progress.hasRows = false
            progress.asked = progress.position
            do {
                try await readAnswer(&progress, deliver)
                if isAtEnd(progress) { return }
                progress.hasCaughtUp = true
                noteWhetherItGetsOn(&progress)
                if !progress.hasRows || progress.isStuck, began.duration(to: .now) < Self.shortestRequest {
                    try await Task.sleep(for: Self.shortestRequest)
                }
                progress.patience.succeed()
                progress.idleEnds = 0
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                // The database is there, this collection of it is not.
                if error.code == .notFound, !progress.hasAnswered, !knowsKeyspace {
                    throw RunFailure(.databaseMissing, error.description)
                }
                if progress.hasCaughtUp, !progress.hasRows, isIdleEnd(error, after: began.duration(to: .now)) {
                    logger.debug("something ended an idle request; asking again", metadata: ["reason": "\(error)"])
                    try await checkAfterIdleEnd(&progress)
                } else {
                    try await wait(after: error, &progress.patience)
                }
            } catch is EndReached {
                return
            }
        }
    }

    private struct Progress {
        var position: SequenceID
        var patience: Patience
        /// The feed was read to its end once: what is new comes one by one.
        var hasCaughtUp = false
        /// There was a proper answer.
        var hasAnswered = false
        /// The answer that was read last brought something.
        var hasRows = false
        /// Where the answer that was read last began.
        var asked: SequenceID
        /// It brought something and ended where it began.
        var isStuck = false
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
            // CouchDB's shards pass it one by one: only the end of its answer tells.
            guard gateway.dialect == .syncGateway, !progress.position.isAheadOfOthers else { continue }
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
            if reached.isFarBehind(progress.position) {
                logger.notice(
                    "the feed went back; going on: what is done already is found so",
                    metadata: ["from": "\(progress.position)", "to": "\(reached)"])
            }
            try await deliver(rows, reached)
            progress.position = reached
            progress.hasRows = true
            progress.patience.succeed()
        }
        if rows.count < batch.count {
            throw GatewayError(.serverError, "\(gateway.url): the feed reports an error of the gateway's own")
        }
    }

    /// Where rows come and the sequence stays the next answer will bring them again: told once, until it moves.
    private func noteWhetherItGetsOn(_ progress: inout Progress) {
        let wasStuck = progress.isStuck
        progress.isStuck = progress.hasRows && progress.position == progress.asked
        guard progress.isStuck, !wasStuck else { return }
        logger.warning(
            "the feed does not get on: it ends where it began and brings the same changes again",
            metadata: ["since": "\(progress.position)"])
    }

    private func hasPassedGoal(_ position: SequenceID) -> Bool {
        guard case .caughtUp(let goal?) = end else { return false }
        return position.hasPassed(goal) == true
    }

    /// Behind an answer that came to its proper end. A gateway in trouble may end one early: what it held is not all.
    /// One that does not get on from where it was asked will not do so next time either.
    private func isAtEnd(_ progress: Progress) -> Bool {
        guard case .caughtUp(let goal) = end else { return false }
        return goal == nil || !progress.hasRows || progress.position == progress.asked
            || hasPassedGoal(progress.position)
    }

    /// Proxies end requests on which nothing moves, some with an answer of their own, some without any.
    private func isIdleEnd(_ error: GatewayError, after span: Duration) -> Bool {
        guard span >= idleAfter else { return false }
        return switch error.code {
        case .timedOut, .connectionLost: true
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
            try await wait(after: error, &progress.patience)
        }
    }

    private func wait(after error: GatewayError, _ patience: inout Patience) async throws {
        switch patience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning(
                "the changes feed broke off; going on from the last change",
                metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
            await noteRetry()
            try await Task.sleep(for: delay)
        }
    }
}
