internal import Encodings
internal import Locking

/// The engine's time of day, as the answers to renewals tell it, and how far this machine's clock is from it.
///
/// The members of a fleet take it for the times of rules, so that a wrong clock makes none early or late. Between two
/// answers it goes on with a clock that is never set.
package final class EngineClock: Sendable {
    /// In seconds: less is no difference.
    static let tolerance = 5
    /// An answer that took longer says too little, unless it is the first.
    private static let longestAnswer: Duration = .seconds(2)

    private struct State {
        var machine: @Sendable () -> Int = { Timestamp.secondsNow }
        var told: @Sendable (Int) -> Void = { _ in }
        /// What the engine said last, in milliseconds since 1970, and when that was. Nil: nothing yet.
        var answer: (time: Int, at: ContinuousClock.Instant)?
        /// The difference that was told last.
        var lead = 0
    }

    private let state = Locked(State())

    /// - Parameters:
    ///   - machine: Seconds since 1970.
    ///   - told: Called with by how many seconds the machine is ahead, below 0 if it is behind: when the clocks begin to
    ///     differ; with 0 when they agree again.
    package func watch(_ machine: @escaping @Sendable () -> Int, _ told: @escaping @Sendable (Int) -> Void) {
        state.withLock { ($0.machine, $0.told) = (machine, told) }
    }

    /// Seconds since 1970: the machine's before the engine has said anything. It has before a member works.
    package func now(_ instant: ContinuousClock.Instant = .now) -> Int {
        let (answer, machine) = state.withLock { ($0.answer, $0.machine) }
        guard let answer else { return machine() }
        return (answer.time + answer.at.duration(to: instant).wholeMilliseconds) / 1000
    }

    /// Takes in an answer of the engine.
    ///
    /// - Parameter time: The engine's, in milliseconds since 1970.
    package func note(_ time: Int, sent: ContinuousClock.Instant, answered: ContinuousClock.Instant = .now) {
        let length = sent.duration(to: answered)
        let isTaken = state.withLock { state in
            guard state.answer == nil || length <= Self.longestAnswer else { return false }
            state.answer = (time, sent + length / 2)
            return true
        }
        // A late answer is better than none, but says nothing of a small difference.
        guard isTaken, length <= Self.longestAnswer else { return }
        let lead = state.withLock(\.machine)() - now(answered)
        let told = state.withLock { state -> (@Sendable (Int) -> Void)? in
            let isWrong = abs(lead) >= Self.tolerance
            guard isWrong != (state.lead != 0) else { return nil }
            state.lead = isWrong ? lead : 0
            return state.told
        }
        told?(abs(lead) >= Self.tolerance ? lead : 0)
    }
}
