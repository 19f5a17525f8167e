package import GatewayClient
package import Logging

/// Reads a changes feed from a sequence on: what there is in one streamed answer, then longpoll after longpoll.
///
/// Reconnects by itself, from the last row that was handed over. A cut answer costs nothing but the wait: rows that
/// came before the cut are good.
package struct FeedReader: Sendable {
    package enum End: Sendable {
        /// Goes on for ever.
        case never
        /// At the proper end of an answer, or once this sequence is passed: what the feed held at the start.
        case caughtUp(with: SequenceID?)
    }

    package let gateway: Gateway
    package let end: End
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

    /// Hands over stretches of the feed, in order; one without rows only moves the position.
    ///
    /// Returns when the end is reached, throws `CancellationError` when cancelled: a waiting longpoll is aborted at
    /// once, a stretch that is being handed over is handed over to its end.
    ///
    /// - Parameter deliver: Takes the rows and the sequence that the feed has reached with them.
    /// - Throws: ``RunFailure``, and whatever `deliver` throws.
    package func read(
        from start: SequenceID, deliver: (_ rows: ChangesBatch.SubSequence?, _ reached: SequenceID) async throws -> Void
    ) async throws {
        var position = start
        var hasCaughtUp = false
        var hasAnswered = false
        var patience = Patience(patience, hasSucceeded: true)
        while true {
            try Task.checkCancellation()
            let feed: ChangesRequest.Feed =
                hasCaughtUp ? .longpoll(timeout: ChangesRequest.defaultLongpollTimeout) : .normal
            let began = ContinuousClock.now
            do {
                var hasRows = false
                var answer = try await gateway.changes(ChangesRequest(since: position, feed: feed))
                hasAnswered = true
                while let batch = try await answer.next() {
                    patience.succeed()
                    hasRows = true
                    try await hand(over: batch, position: &position, to: deliver)
                    if isAtEnd(position) { return }
                }
                if let last = answer.lastSequence {
                    position = last
                    try await deliver(nil, position)
                }
                if case .caughtUp = end { return }
                hasCaughtUp = true
                // A gateway that answers a longpoll at once with nothing must not be asked ten thousand times a second.
                if !hasRows, began.duration(to: .now) < .milliseconds(500) {
                    try await Task.sleep(for: .milliseconds(500))
                }
                patience.succeed()
            } catch let error as GatewayError {
                if error.code == .cancelled { throw CancellationError() }
                // The database is there, this collection of it is not.
                if error.code == .notFound, !hasAnswered { throw RunFailure(.databaseMissing, error.description) }
                try await wait(after: error, &patience)
            }
        }
    }

    /// Hands over the rows up to a `failure` row, and throws there.
    private func hand(
        over batch: ChangesBatch, position: inout SequenceID,
        to deliver: (ChangesBatch.SubSequence?, SequenceID) async throws -> Void
    ) async throws {
        let rows = batch.prefix(while: { $0.kind != .failure })
        if let reached = rows.last?.sequence {
            try await deliver(rows, reached)
            position = reached
        }
        if rows.count < batch.count {
            throw GatewayError(.serverError, "\(gateway.url): the feed reports an error of the gateway's own")
        }
    }

    private func isAtEnd(_ position: SequenceID) -> Bool {
        guard case .caughtUp(let goal?) = end else { return false }
        return position.hasPassed(goal) == true
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
