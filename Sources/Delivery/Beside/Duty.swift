internal import DocumentFlow
package import Locking

/// What only one process of a bot does beside reading the feed: it looks again and again for what is due.
///
/// All of it is in the state. So the next process continues it, and doing a part twice changes nothing.
package protocol Duty {
    /// Makes a duty for a task of its own.
    typealias Maker = @Sendable () -> any Duty

    /// Raised when there may be something to do. For one duty at a time.
    var woken: Signal { get }
    /// How many documents are decided for it at a time, so that any number leaves the feed its share. Nil: as many as
    /// fit in memory.
    var documentsAtOnce: Int? { get }

    /// Does what is due now.
    ///
    /// - Parameter bringer: Takes the documents that must be decided.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`; what the bringer throws.
    mutating func look(_ occasion: DutyOccasion, _ bringer: any Bringer) async throws -> DutyLook
}

extension Duty {
    package var documentsAtOnce: Int? { nil }
}

/// When a duty looks for what is due.
package enum DutyOccasion {
    /// The feed goes on.
    case besideFeed
    /// A run that ends has settled all that it read. It looks until nothing is left.
    case settled
    /// The run was stopped. It brings no more documents.
    case stopping
}

/// What a duty has found.
package struct DutyLook {
    /// Whether documents were brought, so that it must look again once they are settled.
    package var hasBrought = false
    /// It does not look again before.
    package var rest: Duration = .zero
    /// When it looks again at the latest. Nil: when it is woken.
    package var next: ContinuousClock.Instant?

    package init(hasBrought: Bool = false, rest: Duration = .zero, next: ContinuousClock.Instant? = nil) {
        (self.hasBrought, self.rest, self.next) = (hasBrought, rest, next)
    }
}

/// Enqueues documents to be decided: in the queue of this process, or in the log of members that share the work.
package protocol Bringer: Sendable {
    /// Whether what was brought outlives this process, so that the state may forget it.
    var isDurable: Bool { get }
    /// Returns once there may be room for more documents.
    ///
    /// - Returns: Whether there is.
    func room() async throws -> Bool
    /// - Returns: How many were brought: none that is under way already, and no more than there is room for.
    func bring(_ candidates: [Candidate]) async throws -> Int
    /// Waits until all that it has brought is settled; a log, only for a moment.
    ///
    /// - Returns: Whether it is.
    func untilSettled() async throws -> Bool
}

extension Duty {
    /// Looks again and again, at least once, until the run is over or the task is cancelled. It is not cut off in a look.
    ///
    /// - Parameters:
    ///   - interval: How often it looks for work that other processes have noted. Nil: there are no others.
    ///   - isOver: Whether the feed has ended.
    /// - Throws: As ``look(_:_:)``.
    package mutating func work(_ bringer: any Bringer, every interval: Duration? = nil, until isOver: Monitor<Bool>)
        async throws
    {
        do {
            // At least once: a short feed may have ended before this task began.
            repeat {
                let look = try await look(.besideFeed, bringer)
                let woken = woken
                let next = [look.next, interval.map { .now + $0 }].compactMap(\.self).min()
                try await isOver.wait(until: \.self, atMost: look.rest)
                try await isOver.wait(until: \.self) {
                    if let next { try await woken.wait(until: next) } else { try await woken.wait() }
                }
            } while !isOver.quietly(\.self)
        } catch is RunIsStopping {
            // The next run goes on with it.
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

    /// The same, for some time.
    fileprivate func wait(until isMet: @escaping @Sendable (Value) -> Bool, atMost time: Duration) async throws {
        guard time > .zero else { return }
        try await wait(until: isMet) { try await Task.sleep(for: time) }
    }
}
