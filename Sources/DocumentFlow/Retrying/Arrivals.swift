internal import Locking

/// How many requests of one kind have succeeded.
package final class Arrivals: Sendable {
    private let locked = Locked(0)

    /// Starts at zero.
    package init() {}

    /// Successes so far.
    package var count: Int { locked.withLock { $0 } }

    /// Counts one success.
    package func note() { locked.withLock { $0 += 1 } }
}
