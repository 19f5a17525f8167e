internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Fleet
internal import FleetEngine
internal import GatewayClient
internal import Locking
internal import ServiceLifecycle

/// This process's share of a fleet's log. While this process is the leader, it also reads the feed into the log.
struct LogSource: WorkSource {
    let sharedWork: SharedWork
    /// The tasks of the leader.
    let backgroundTasks: LeaderTasks
    let gateway: Gateway
    /// Only these Sync Gateway channels. Nil: all channels that this user may read.
    let channels: [String]?
    /// Where an empty log begins.
    let start: SequenceID
    /// Called before the feed is read if the database may have been replaced.
    let confirmDatabase: @Sendable () async throws -> Void
    /// Called when a request for the feed has ended.
    let noteAnswer: @Sendable () -> Void

    let handlesShutdown = true

    /// Works until a graceful shutdown begins, then finishes the work under way.
    ///
    /// - Throws: ``StateError``, `RunError`, `CancellationError`; what `confirmDatabase` throws.
    func run(into delivery: Delivery) async throws {
        let end = FeedEnd()
        let member = sharedWork.makeMember(
            feed(for: delivery, end), backgroundTasks, ChangeProcessor(delivery: delivery))
        defer { sharedWork.forgetMember() }
        await delivery.noteCaughtUp(true)
        member.setBeforeLeaving {
            // Otherwise the checkpoint would be as old as the feed's last response.
            guard let answered = await sharedWork.lastAnswered() else { return }
            try? await delivery.ledger.saveCheckpoint(answered)
        }
        try await sharedWork.translatingErrors {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await withGracefulShutdownHandler {
                        try await member.run()
                    } onGracefulShutdown: {
                        member.stop()
                    }
                }
                group.addTask { try await backgroundTasks.waitUntilFailed() }
                group.addTask { try await end.wait() }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    private func feed(for delivery: Delivery, _ end: FeedEnd) -> GatewayFeed {
        var feed = GatewayFeed(
            gateway: gateway, channels: channels, start: start,
            noteCaughtUp: { await delivery.noteCaughtUp($0) },
            save: { try await delivery.ledger.saveCheckpoint($0) })
        feed.includesRevocations = delivery.tracksMatches && gateway.dialect.reportsRevocations
        feed.noteAnswer = noteAnswer
        feed.confirmDatabase = { try await end.watch(confirmDatabase) }
        return feed
    }

    /// Ends the member after a feed error that a retry can't fix. The leader itself would retry.
    private struct FeedEnd {
        private let cause = Locked<(any Error)?>(nil)
        private let hasError = Signal()

        func watch(_ body: () async throws -> Void) async throws {
            do { try await body() } catch {
                guard error is DatabaseReset || error is RunError else { throw error }
                cause.withLock { $0 = error }
                hasError.raise()
                throw CancellationError()
            }
        }

        /// - Throws: The error, `CancellationError`.
        func wait() async throws {
            try await hasError.wait()
            if let cause = cause.withLock(\.self) { throw cause }
        }
    }
}
