internal import Locking

/// How many requests of one kind have succeeded.
package final class Arrivals: Sendable {
    private let locked = Locked(0)

    package init() {}

    package var count: Int { locked.withLock { $0 } }

    package func note() { locked.withLock { $0 += 1 } }
}
