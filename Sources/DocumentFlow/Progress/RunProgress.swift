package import GatewayClient

/// Where a run stands: the safe sequence and the counters, in one place for all stages.
package actor RunProgress {
    /// All counts of the run so far.
    package private(set) var counters: RunCounters
    private var tracker: SafeSequenceTracker
    private var saved: SequenceID
    private var isEnded = false
    private var isOverLimit = false
    private var waiting: CheckedContinuation<Void, Never>?

    /// - Parameter counters: Counts of the run so far, if it begins again after a reset of the database.
    package init(start: SequenceID, counters: RunCounters = RunCounters()) {
        self.counters = counters
        tracker = SafeSequenceTracker(start: start)
        saved = start
    }

    /// Every change up to this sequence is finished: a checkpoint may be saved here.
    package var safeSequence: SequenceID { tracker.safeSequence }

    /// Records a batch of the feed: some changes that need work, each after any number that need none.
    ///
    /// - Parameters:
    ///   - openings: For each change that needs work, its sequence and that of the row before it. A `preceding` of
    ///     nil: the row before is the previous opening, or the position reached so far.
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

    /// Every effect of these changes is settled. Each ticket is used once.
    package func finish(_ tickets: [SafeSequenceTracker.Ticket]) {
        for ticket in tickets { tracker.finish(ticket) }
        wake()
    }

    /// Updates the counters.
    package func count(_ change: (inout RunCounters) -> Void) { change(&counters) }

    /// Counts dead letters that are about to be saved.
    ///
    /// - Returns: How many of them may be saved: up to and including the first one over the limit. ``check(_:)`` then
    ///   ends the run.
    package func admit(_ deadLetters: Int, _ limit: ErrorLimit?) -> Int {
        var admitted = 0
        while admitted < deadLetters, !isBeyond(limit) {
            counters.deadLetters += 1
            admitted += 1
        }
        return admitted
    }

    /// - Throws: ``RunError`` with `.tooManyErrors` if the limit was exceeded.
    package func check(_ limit: ErrorLimit?) throws {
        guard let limit, isBeyond(limit) else { return }
        throw RunError(limit, counters.failures)
    }

    /// Stays true: the dead letters refused then must end the run, even if the percentage has fallen since.
    private func isBeyond(_ limit: ErrorLimit?) -> Bool {
        isOverLimit = isOverLimit || limit?.isExceeded(by: counters.failures) == true
        return isOverLimit
    }

    // MARK: - Saving checkpoints

    /// Waits until the safe sequence differs from the one saved last; nil once the run has ended.
    ///
    /// For one caller at a time. Does not react to cancellation: ``end()`` ends the wait.
    package func nextUnsaved() async -> SequenceID? {
        while tracker.safeSequence == saved, !isEnded {
            await withCheckedContinuation { waiting = $0 }
        }
        return isEnded ? nil : tracker.safeSequence
    }

    /// The safe sequence; nil if it is already saved.
    package var unsaved: SequenceID? { tracker.safeSequence == saved ? nil : tracker.safeSequence }

    /// A checkpoint with this sequence is on disk.
    package func noteSaved(_ sequence: SequenceID) { saved = sequence }

    /// From now on ``nextUnsaved()`` returns nil.
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
