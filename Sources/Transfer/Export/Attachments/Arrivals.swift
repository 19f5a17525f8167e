internal import Locking

/// How many requests of one kind have succeeded.
final class Arrivals: Sendable {
    private let locked = Locked(0)

    var count: Int { locked.withLock { $0 } }

    func note() { locked.withLock { $0 += 1 } }
}
