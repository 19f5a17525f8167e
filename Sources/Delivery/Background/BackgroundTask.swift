internal import DocumentFlow
package import Locking

/// Work of a bot besides reading the feed, which only one process does: it repeatedly processes what is due.
///
/// The pending work is in the state, so the next process continues it. Repeating a part of it is harmless.
package protocol BackgroundTask {
    /// Makes an instance, each for one Swift task.
    typealias Factory = @Sendable () -> any BackgroundTask

    /// Raised when there may be something to do. Only one instance may wait for it at a time.
    var woken: Signal { get }
    /// How many of its documents are decided at a time, so that the feed is not delayed. Nil: as many as fit in memory.
    var documentsAtOnce: Int? { get }

    /// Does the work that is due now.
    ///
    /// - Parameter enqueuer: Receives the documents that must be decided.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`; errors of the enqueuer.
    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
}

extension BackgroundTask {
    package var documentsAtOnce: Int? { nil }
}

/// What the run is doing when a background task runs.
package enum BackgroundTaskPhase {
    /// The run reads the feed.
    case readingFeed
    /// A run with an end has settled all that it read. The task runs until no work is left.
    case settled
    /// The run was stopped. The task enqueues no more documents.
    case stopping
}

/// The result of one execution of a background task.
package struct BackgroundTaskResult {
    /// Whether documents were enqueued, so that the task must run again once they are settled.
    package var hasEnqueued = false
    /// The shortest time until its next execution.
    package var rest: Duration = .zero
    /// When it runs again at the latest. Nil: when it is woken.
    package var next: ContinuousClock.Instant?

    package init(hasEnqueued: Bool = false, rest: Duration = .zero, next: ContinuousClock.Instant? = nil) {
        (self.hasEnqueued, self.rest, self.next) = (hasEnqueued, rest, next)
    }
}

/// Enqueues documents to be decided: in the queue of this process, or in the log of members that share the work.
package protocol CandidateEnqueuer: Sendable {
    /// Whether enqueued documents survive this process, so that the state may delete its record of them.
    var isDurable: Bool { get }
    /// Returns once there may be room for more documents.
    ///
    /// - Returns: Whether there is room.
    func room() async throws -> Bool
    /// - Returns: How many were enqueued: only documents that are not under way already, and as many as there is room
    ///   for.
    func enqueue(_ candidates: [Candidate]) async throws -> Int
    /// Waits until all documents that it has enqueued are settled. A log waits only for a moment.
    ///
    /// - Returns: Whether all are settled.
    func waitUntilSettled() async throws -> Bool
}

extension BackgroundTask {
    /// Executes the task repeatedly, at least once, until the run is over or the Swift task is cancelled. The end of
    /// the run does not interrupt an execution.
    ///
    /// - Parameters:
    ///   - interval: How often it checks for work that other processes have recorded. Nil: there are no others.
    ///   - isOver: Whether the feed has ended.
    /// - Throws: As ``runOnce(_:_:)``.
    package mutating func work(
        _ enqueuer: any CandidateEnqueuer, every interval: Duration? = nil, until isOver: Monitor<Bool>
    )
        async throws
    {
        do {
            // At least once: a short feed may have ended before this task began.
            repeat {
                let result = try await runOnce(.readingFeed, enqueuer)
                let woken = woken
                let next = [result.next, interval.map { .now + $0 }].compactMap(\.self).min()
                try await isOver.wait(until: \.self, atMost: result.rest)
                try await isOver.wait(until: \.self) {
                    if let next { try await woken.wait(until: next) } else { try await woken.wait() }
                }
            } while !isOver.quietly(\.self)
        } catch is RunIsStopping {
            // The next run continues the work.
        } catch is CancellationError where !Task.isCancelled {
            // A graceful shutdown.
        }
    }
}

extension Monitor {
    /// Waits until the value meets a condition, or `body` has returned.
    ///
    /// - Throws: What `body` throws, `CancellationError`.
    fileprivate func wait(
        until isMet: @escaping @Sendable (Value) -> Bool, or body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(until: isMet) }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
    }

    /// The same with a time limit.
    fileprivate func wait(until isMet: @escaping @Sendable (Value) -> Bool, atMost time: Duration) async throws {
        guard time > .zero else { return }
        try await wait(until: isMet) { try await Task.sleep(for: time) }
    }
}
