/// How long one call has been going on, for its deadline.
///
/// What counts is the processor time of the process: on a machine that is busy with other things a program that needs
/// little must not fail. It is asked for only when there is no answer for a while; most calls never come to that.
struct CallTime {
    /// A call that gets no processor time at all ends after so many times its deadline.
    private static let mostWaiting = 10

    private let start: ContinuousClock.Instant
    /// What the process had used at the first look, a tenth of a second after the start.
    private var usedBefore: Duration?

    init(start: ContinuousClock.Instant) { self.start = start }

    /// Whether a call that has not ended by `now` has had its time.
    ///
    /// - Parameter used: The processor time of the process since its own start; nil if the system does not tell, then
    ///   the time that passes counts.
    mutating func isUp(_ deadline: Duration, now: ContinuousClock.Instant, used: Duration?) -> Bool {
        let elapsed = now - start
        guard let used else { return elapsed >= deadline }
        guard let usedBefore else {
            usedBefore = used
            return false
        }
        return used - usedBefore >= deadline || elapsed >= deadline * Self.mostWaiting
    }
}
