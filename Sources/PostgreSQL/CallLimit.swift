internal import Locking

/// The time when all calls end, regardless of their own deadlines, in a process that must end soon.
///
/// Several connections can share one limit. Any thread may call.
package final class CallLimit: Sendable {
    /// How often a waiting call checks for a limit.
    static let interval: Duration = .milliseconds(100)

    private let limit = Locked<ContinuousClock.Instant?>(nil)

    /// Starts without a limit.
    package init() {}

    /// From `end` on, calls fail, including those in progress. An earlier limit is kept.
    package func set(_ end: ContinuousClock.Instant) {
        limit.withLock { $0 = min($0 ?? end, end) }
    }

    /// Removes the limit.
    package func removeLimit() { limit.withLock { $0 = nil } }

    /// The limit; nil if there is none.
    package var end: ContinuousClock.Instant? { limit.withLock(\.self) }

    /// Whether every call fails from now on.
    package var isOver: Bool { end.map { $0 <= .now } ?? false }
}
