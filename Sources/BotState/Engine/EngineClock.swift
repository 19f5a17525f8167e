internal import Encodings
internal import Locking

/// The engine's time of day, from the answers to renewals, and the difference to this machine's clock.
///
/// The members of a fleet use it for timers and schedules, so that a machine's wrong clock does not matter. Between two
/// answers it advances with a monotonic clock.
package final class EngineClock: Sendable {
    /// In seconds. Smaller differences are ignored.
    static let tolerance = 5
    /// An answer that took longer is too inaccurate, unless it is the first.
    private static let maxAnswerTime: Duration = .seconds(2)

    private struct State {
        var machine: @Sendable () -> Int = { Timestamp.secondsNow }
        var onDifference: @Sendable (Int) -> Void = { _ in }
        /// The engine's last answer, in milliseconds since 1970, and when it arrived. Nil: none yet.
        var answer: (time: Int, at: ContinuousClock.Instant)?
        /// The last reported difference.
        var offset = 0
    }

    private let state = Locked(State())

    /// With the machine's time until the engine's first answer.
    package init() {}

    /// - Parameters:
    ///   - machine: Seconds since 1970.
    ///   - onDifference: Called when the clocks start to differ, with the seconds by which the machine is ahead
    ///     (negative: behind), and with 0 when they agree again.
    package func watch(_ machine: @escaping @Sendable () -> Int, _ onDifference: @escaping @Sendable (Int) -> Void) {
        state.withLock { ($0.machine, $0.onDifference) = (machine, onDifference) }
    }

    /// Seconds since 1970. Uses the machine's clock before the engine's first answer, which arrives before a member
    /// works.
    package func now(_ instant: ContinuousClock.Instant = .now) -> Int {
        let (answer, machine) = state.withLock { ($0.answer, $0.machine) }
        guard let answer else { return machine() }
        return (answer.time + answer.at.duration(to: instant).wholeMilliseconds) / 1000
    }

    /// Records an answer of the engine.
    ///
    /// - Parameter time: The engine's, in milliseconds since 1970.
    package func note(_ time: Int, sent: ContinuousClock.Instant, answered: ContinuousClock.Instant = .now) {
        let length = sent.duration(to: answered)
        let isAccepted = state.withLock { state in
            guard state.answer == nil || length <= Self.maxAnswerTime else { return false }
            state.answer = (time, sent + length / 2)
            return true
        }
        // A late answer is better than none, but too inaccurate for a small difference.
        guard isAccepted, length <= Self.maxAnswerTime else { return }
        let offset = state.withLock(\.machine)() - now(answered)
        let onDifference = state.withLock { state -> (@Sendable (Int) -> Void)? in
            let isWrong = abs(offset) >= Self.tolerance
            guard isWrong != (state.offset != 0) else { return nil }
            state.offset = isWrong ? offset : 0
            return state.onDifference
        }
        onDifference?(abs(offset) >= Self.tolerance ? offset : 0)
    }
}
