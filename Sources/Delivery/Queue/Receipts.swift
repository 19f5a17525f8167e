internal import DocumentFlow

/// Who must be told what became of a candidate.
package struct Receipts: Sendable {
    /// Hold the safe sequence back, one per change of the feed. Empty if it is not from a feed.
    private(set) var tickets: [SafeSequenceTracker.Ticket] = []
    /// Called when this run has nothing more to do with it: by a log.
    private var whenOver: [@Sendable (Over) -> Void] = []
    /// The same by those who brought it beside the feed, also whenever it is put off.
    private var whenSettled: [@Sendable (Over) -> Void] = []
    /// Whether it comes from a log, which keeps it while it waits for something.
    private(set) var isOfLog = false
    /// When its oldest change was read.
    private(set) var arrivedAt = ContinuousClock.now

    /// What becomes of a candidate.
    package enum Over: Sendable {
        /// Every effect is on disk, or a dead letter is.
        case finished
        /// The run stops before.
        case abandoned
        /// It is to be decided then, as the document is then.
        case waits(until: ContinuousClock.Instant)
    }

    /// - Parameter ticket: Nil: it is not from a feed.
    init(_ ticket: SafeSequenceTracker.Ticket? = nil) { tickets = ticket.map { [$0] } ?? [] }

    /// Of a candidate that a log keeps while it waits.
    ///
    /// - Parameter whenOver: Called once.
    init(ofLog whenOver: @escaping @Sendable (Over) -> Void) {
        self.whenOver = [whenOver]
        isOfLog = true
    }

    /// Whether the feed brought it, here or to another member of the fleet.
    var areOfFeed: Bool { !tickets.isEmpty || !whenOver.isEmpty }

    package func tell(_ over: Over) {
        for tell in whenOver { tell(over) }
        for tell in whenSettled { tell(over) }
    }

    /// Tells those who brought it beside the feed that it waits; no log, which keeps only what it alone has brought.
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
