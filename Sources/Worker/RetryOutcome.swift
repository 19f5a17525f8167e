internal import Locking
internal import Pipeline

/// How many letters a ``Retrier`` had to try again, and how many of them are left.
package final class RetryOutcome: Sendable {
    private let counts = Locked((before: 0, left: 0))

    package init() {}

    package var before: Int { counts.withLock(\.before) }
    package var left: Int { counts.withLock(\.left) }

    func begin(_ letters: Retrier.Letters, _ ledger: Ledger) throws(StateError) {
        let count = try letters.count(in: ledger)
        counts.withLock { $0 = (count, count) }
    }

    /// What can't be counted counts as left.
    func end(_ letters: Retrier.Letters, _ ledger: Ledger) {
        guard let count = try? letters.count(in: ledger) else { return }
        counts.withLock { $0.left = count }
    }
}
