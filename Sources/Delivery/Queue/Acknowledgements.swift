internal import DocumentFlow

/// The acknowledgements to give when a candidate is over.
package struct Acknowledgements: Sendable {
    /// One per change of the feed; they hold back the safe sequence. Empty if the candidate is not from a feed.
    private(set) var tickets: [SafeSequenceTracker.Ticket] = []
    /// Callbacks of a log, called once this run has nothing more to do with the candidate.
    private var onEnd: [@Sendable (Outcome) -> Void] = []
    /// Callbacks of background tasks that enqueued it, also called each time it is postponed.
    private var onSettled: [@Sendable (Outcome) -> Void] = []
    /// Whether it comes from a log, which keeps it while it waits.
    private(set) var isFromLog = false
    /// When its oldest change was read.
    private(set) var arrivedAt = ContinuousClock.now

    /// What becomes of a candidate.
    package enum Outcome: Sendable {
        /// Every effect, or a dead letter, is on disk.
        case finished
        /// The run stops before it is finished.
        case abandoned
        /// It is postponed: decided at this time, with the content at that time.
        case waits(until: ContinuousClock.Instant)
    }

    /// - Parameter ticket: Nil: it is not from a feed.
    init(_ ticket: SafeSequenceTracker.Ticket? = nil) { tickets = ticket.map { [$0] } ?? [] }

    /// For a candidate that a log keeps while it waits.
    ///
    /// - Parameter onEnd: Called once.
    init(ofLog onEnd: @escaping @Sendable (Outcome) -> Void) {
        self.onEnd = [onEnd]
        isFromLog = true
    }

    /// Whether it comes from a feed, read here or by another member of the fleet.
    var areFromFeed: Bool { !tickets.isEmpty || !onEnd.isEmpty }

    package func notify(_ outcome: Outcome) {
        for callback in onEnd { callback(outcome) }
        for callback in onSettled { callback(outcome) }
    }

    /// Tells the background tasks that enqueued it that it waits. A log is not told: it keeps only candidates that it
    /// alone enqueued.
    func notifyPostponed(until due: ContinuousClock.Instant) {
        for callback in onSettled { callback(.waits(until: due)) }
    }

    mutating func add(_ onSettled: @escaping @Sendable (Outcome) -> Void) { self.onSettled.append(onSettled) }

    mutating func merge(_ other: Acknowledgements) {
        if !InjectedFault.unclosedTicket.isActive { tickets += other.tickets }
        onEnd += other.onEnd
        onSettled += other.onSettled
        isFromLog = isFromLog && other.isFromLog
        arrivedAt = min(arrivedAt, other.arrivedAt)
    }
}
