internal import Locking

/// The wait before the next attempt: exponential with full jitter, capped.
///
/// The wait after *n* consecutive failures is drawn uniformly from 0 to `base` · 2ⁿ⁻¹, at most `cap`. A success resets
/// it.
package struct Backoff: Sendable {
    /// The longest first wait.
    package var base: Duration
    /// The longest wait, unless the gateway requests a longer one.
    package var cap: Duration = .seconds(60)
    /// Waits since the last reset.
    package private(set) var failures = 0
    private let random: @Sendable () -> Double

    /// - Parameters:
    ///   - base: The longest first wait.
    ///   - random: Returns a number in `0..<1`.
    package init(
        base: Duration = .milliseconds(250), random: @escaping @Sendable () -> Double = { SystemRandom.fraction() }
    ) {
        self.base = base
        self.random = random
    }

    /// The wait before the next attempt. The following one may be twice as long.
    ///
    /// - Parameter atLeast: The gateway's `Retry-After`.
    package mutating func next(atLeast: Duration? = nil) -> Duration {
        // Beyond 2^16 the cap applies anyway, and the shift must not overflow on the hundredth failure.
        let ceiling = min(cap, base * (1 << min(failures, 16)))
        failures += 1
        return max(ceiling * random(), atLeast ?? .zero)
    }

    /// Resets the wait. Must be called after a success.
    package mutating func reset() { failures = 0 }
}
