/// Measures one call against its deadline.
///
/// Processor time counts, so that a small program does not fail on a busy machine. It is read only if there is no
/// answer for a while, which is rare.
package struct CallTime {
    /// A call without processor time ends after this multiple of its deadline.
    private static let maxWaitFactor = 10

    private let start: ContinuousClock.Instant
    /// Processor time at the first check, a tenth of a second after the start.
    private var usedBefore: Duration?

    package init(start: ContinuousClock.Instant) { self.start = start }

    /// Whether the deadline of a call that is still running at `now` has passed.
    ///
    /// - Parameter used: The processor time of the process since its start. Nil if the system does not report it;
    ///   elapsed time counts then.
    package mutating func isUp(_ deadline: Duration, now: ContinuousClock.Instant, used: Duration?) -> Bool {
        let elapsed = now - start
        guard let used else { return elapsed >= deadline }
        guard let usedBefore else {
            usedBefore = used
            return false
        }
        return used - usedBefore >= deadline || elapsed >= deadline * Self.maxWaitFactor
    }
}
