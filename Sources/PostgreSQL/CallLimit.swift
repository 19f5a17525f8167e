internal import Locking

/// The time at which calls end, whatever their own deadlines are: for a process that must end soon.
///
/// Several connections can have the same. Any thread may call.
package final class CallLimit: Sendable {
    /// A call that waits looks this often whether there is a limit now.
    static let interval: Duration = .milliseconds(100)

    private let limit = Locked<ContinuousClock.Instant?>(nil)

    /// None yet.
    package init() {}

    /// From `end` on, calls fail, those under way too. An earlier limit stays.
    package func set(_ end: ContinuousClock.Instant) {
        limit.withLock { $0 = min($0 ?? end, end) }
    }

    /// There is no limit any more.
    package func lift() { limit.withLock { $0 = nil } }

    /// Nil: none.
    package var end: ContinuousClock.Instant? { limit.withLock(\.self) }

    /// Whether every call fails from now on.
    package var isOver: Bool { end.map { $0 <= .now } ?? false }
}
