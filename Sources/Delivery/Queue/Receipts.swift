internal import DocumentFlow

/// The acknowledgements to give when a candidate is over.
package struct Receipts: Sendable {
    /// One per change of the feed; they hold back the safe sequence. Empty if the candidate is not from a feed.
    private(set) var tickets: [SafeSequenceTracker.Ticket] = []
    /// Callbacks of a log, called once this run has nothing more to do with the candidate.
    private var whenOver: [@Sendable (Over) -> Void] = []
    /// Callbacks of background tasks that enqueued it, also called each time it is postponed.
    private var whenSettled: [@Sendable (Over) -> Void] = []
    /// Whether it comes from a log, which keeps it while it waits.
    private(set) var isOfLog = false
    /// When its oldest change was read.
    private(set) var arrivedAt = ContinuousClock.now

    /// What becomes of a candidate.
    package enum Over: Sendable {
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
    /// - Parameter whenOver: Called once.
    init(ofLog whenOver: @escaping @Sendable (Over) -> Void) {
        self.whenOver = [whenOver]
        isOfLog = true
    }

    /// Whether it comes from a feed, read here or by another member of the fleet.
    var areOfFeed: Bool { !tickets.isEmpty || !whenOver.isEmpty }

    package func tell(_ over: Over) {
        for tell in whenOver { tell(over) }
        for tell in whenSettled { tell(over) }
    }

    /// Tells the background tasks that enqueued it that it waits. A log is not told: it keeps only candidates that it
    /// alone enqueued.
    func tellWaits(until due: ContinuousClock.Instant) {
        for tell in whenSettled { tell(.waits(until: due)) }
    }

    mutating func add(_ whenSettled: @escaping @Sendable (Over) -> Void) { self.whenSettled.append(whenSettled) }

    mutating func absorb(_ other: Receipts) {
        tickets += other.tickets
        whenOver += other.whenOver
        whenSettled += other.whenSettled
        isOfLog = isOfLog && other.isOfLog
        arrivedAt = min(arrivedAt, other.arrivedAt)
    }
}
