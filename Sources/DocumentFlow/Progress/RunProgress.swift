package import GatewayClient

/// Where a run stands: the safe sequence and the counters, in one place for all stages.
package actor RunProgress {
    package private(set) var counters: RunCounters
    private var tracker: SafeSequenceTracker
    private var saved: SequenceID
    private var isEnded = false
    private var isOverLimit = false
    private var waiting: CheckedContinuation<Void, Never>?

    /// - Parameter counters: What the run has done before.
    package init(start: SequenceID, counters: RunCounters = RunCounters()) {
        self.counters = counters
        tracker = SafeSequenceTracker(start: start)
        saved = start
    }

    package var safeSequence: SequenceID { tracker.safeSequence }

    /// Takes in a stretch of the feed: some changes that need work, each behind any number that need none.
    ///
    /// - Parameters:
    ///   - openings: For each change that needs work, its sequence and that of the row before it (nil: the opening
    ///     before, or what was passed last).
    ///   - end: The last row's sequence.
    /// - Returns: A ticket for each opening.
    package func advance(
        through openings: [(preceding: SequenceID?, sequence: SequenceID)], to end: SequenceID, changes: Int, bytes: Int
    ) -> [SafeSequenceTracker.Ticket] {
        counters.changes += changes
        counters.bytesIn += bytes
        let tickets = openings.map { opening in
            if let preceding = opening.preceding { tracker.pass(to: preceding) }
            return tracker.open(opening.sequence)
        }
        tracker.pass(to: end)
        wake()
        return tickets
    }

    package func finish(_ tickets: [SafeSequenceTracker.Ticket]) {
        for ticket in tickets { tracker.finish(ticket) }
        wake()
    }

    package func count(_ change: (inout RunCounters) -> Void) { change(&counters) }

    /// Counts dead letters that are about to be kept.
    ///
    /// - Returns: How many of them may be: with a limit, up to the first one beyond it. ``check(_:)`` ends the run then.
    package func admit(_ letters: Int, _ limit: ErrorLimit?) -> Int {
        var admitted = 0
        while admitted < letters, !isBeyond(limit) {
            counters.deadLetters += 1
            admitted += 1
        }
        return admitted
    }

    /// - Throws: ``RunFailure`` with `.tooManyErrors` if more has gone wrong than is borne.
    package func check(_ limit: ErrorLimit?) throws {
        guard let limit, isBeyond(limit) else { return }
        throw RunFailure(limit, counters.failures)
    }

    /// Once it is, it stays so: what was refused then must not be forgotten because a share has become smaller.
    private func isBeyond(_ limit: ErrorLimit?) -> Bool {
        isOverLimit = isOverLimit || limit?.isExceeded(by: counters.failures) == true
        return isOverLimit
    }

    // MARK: - For the one who saves

    /// The safe sequence, once it is another than the one saved last; nil when the run has ended.
    package func nextUnsaved() async -> SequenceID? {
        while tracker.safeSequence == saved, !isEnded {
            await withCheckedContinuation { waiting = $0 }
        }
        return isEnded ? nil : tracker.safeSequence
    }

    /// The safe sequence if it is another than the one saved last.
    package var unsaved: SequenceID? { tracker.safeSequence == saved ? nil : tracker.safeSequence }

    package func noteSaved(_ sequence: SequenceID) { saved = sequence }

    package func end() {
        isEnded = true
        wake()
    }

    private func wake() {
        guard isEnded || tracker.safeSequence != saved else { return }
        waiting?.resume()
        waiting = nil
    }
}
