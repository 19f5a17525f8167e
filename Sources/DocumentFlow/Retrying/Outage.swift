package import Logging

/// A time in which the gateway could not be reached, or did not do what it was asked to. Its end is told once.
package struct Outage: Sendable {
    private var began: ContinuousClock.Instant?

    package init() {}

    /// A request failed.
    package mutating func note(now: ContinuousClock.Instant = .now) { began = began ?? now }

    /// A request succeeded.
    package mutating func end(_ logger: Logger, now: ContinuousClock.Instant = .now) {
        guard let began else { return }
        self.began = nil
        logger.notice("reached the gateway again after \(Self.text(began.duration(to: now)))")
    }

    /// `0.4 s`, `32 s`.
    private static func text(_ span: Duration) -> String {
        let tenths = Int((span / .milliseconds(100)).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : "\((tenths + 5) / 10) s"
    }
}
