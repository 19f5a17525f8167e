internal import Locking
internal import Pipeline

/// How many letters a ``DeadLetterRetry`` had to try again, and how many of them are left.
package final class RetryOutcome: Sendable {
    private struct State {
        var before = 0
        var tried: [Int] = []
        var left = 0
    }

    private let state = Locked(State())

    package init() {}

    package var before: Int { state.withLock(\.before) }
    package var left: Int { state.withLock(\.left) }

    func begin(_ letters: DeadLetterRetry.Letters, _ ledger: Ledger) throws(StateError) {
        let count = try letters.count(in: ledger)
        state.withLock { $0 = State(before: count, left: count) }
    }

    /// One that fails again keeps its number, whatever its reason is now.
    func note(_ documents: some Sequence<DeadLetteredDocument>) {
        state.withLock { $0.tried += documents.flatMap(\.letters) }
    }

    /// What was not tried, and what can't be counted, counts as left.
    func end(_ ledger: Ledger) {
        let state = state.withLock { $0 }
        guard let kept = try? state.tried.count(where: { try ledger.deadLetter($0) != nil }) else { return }
        self.state.withLock { $0.left = max(0, state.before - state.tried.count) + kept }
    }
}
