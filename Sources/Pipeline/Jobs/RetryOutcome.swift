internal import Locking

/// How many dead letters a ``DeadLetterRetry`` had to retry, and how many are left.
package final class RetryOutcome: Sendable {
    private struct State {
        var before = 0
        var tried: [Int] = []
        var left = 0
    }

    private let state = Locked(State())

    /// Zero of both, until the retry has opened its state.
    package init() {}

    /// Dead letters that were selected at the start.
    package var before: Int { state.withLock(\.before) }
    /// Those that still exist; updated at the end of the retry, until then equal to ``before``.
    package var left: Int { state.withLock(\.left) }

    func begin(_ deadLetters: DeadLetterRetry.Letters, _ ledger: Ledger) throws(StateError) {
        let count = try deadLetters.count(in: ledger)
        state.withLock { $0 = State(before: count, left: count) }
    }

    /// A dead letter that fails again keeps its number, even if its reason changes.
    func note(_ documents: some Sequence<DeadLetteredDocument>) {
        state.withLock { $0.tried += documents.flatMap(\.deadLetters) }
    }

    /// Dead letters that were not tried count as left; so do all if the state can't be read.
    func end(_ ledger: Ledger) {
        let state = state.withLock { $0 }
        guard let kept = try? state.tried.count(where: { try ledger.deadLetter($0) != nil }) else { return }
        self.state.withLock { $0.left = max(0, state.before - state.tried.count) + kept }
    }
}
