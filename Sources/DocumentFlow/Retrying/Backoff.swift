/// How long to wait before the next attempt: exponential, with full jitter, capped.
///
/// The wait before attempt *n* is drawn evenly from 0 to `base` · 2ⁿ, at most `cap`. A success starts over.
package struct Backoff: Sendable {
    package var base: Duration = .milliseconds(250)
    package var cap: Duration = .seconds(60)
    package private(set) var failures = 0
    private let random: @Sendable () -> Double

    /// - Parameter random: Evenly from 0 up to 1.
    package init(random: @escaping @Sendable () -> Double = { .random(in: 0..<1) }) { self.random = random }

    /// - Parameter atLeast: What the gateway asked for (`Retry-After`).
    package mutating func next(atLeast: Duration? = nil) -> Duration {
        // Beyond 2^16 the cap decides anyway; the shift must not overflow on the hundredth failure.
        let ceiling = min(cap, base * (1 << min(failures, 16)))
        failures += 1
        return max(ceiling * random(), atLeast ?? .zero)
    }

    package mutating func reset() { failures = 0 }
}
