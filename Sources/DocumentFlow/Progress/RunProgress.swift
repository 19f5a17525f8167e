package import GatewayClient
package import Locking

/// The progress of a run: the safe sequence and the counters, shared by all stages.
package actor RunProgress {
    /// All counts of the run so far.
    package private(set) var counters: RunCounters
    private var tracker: SafeSequenceTracker
    private var checkpoint: Checkpoint
    private var isEnded = false
    private var isOverLimit = false
    private var waiting: CheckedContinuation<Void, Never>?
    private let observer: (any RunObserver)?
    private var current: Position
    /// Raised whenever the run starts to catch up.
    package nonisolated let catchesUp = Signal("new changes to catch up with")
    /// Checks the expiry of written documents.
    package nonisolated let expiry = ExpiryWatch()
    /// Raised when all changes that were read are finished.
    private nonisolated let settled = Signal("finished changes")

    /// This number of changes is soon saved even if none of them needed work: after a crash all would be read again.
    private static let savedChangeCount = 1000

    /// The last checkpoint, and what has happened since.
    private struct Checkpoint {
        var sequence: SequenceID
        /// Whether changes that needed work were finished.
        var hasUnsavedWork = false
        /// The number of changes read.
        var unsavedChanges = 0
    }

    /// The parts of ``facts`` other than counters and checkpoint.
    private struct Position {
        var position: SequenceID
        var phase = RunFacts.Phase.catchingUp
        var newest: SequenceID?
        var behindSince: ContinuousClock.Instant? = .now
        var savedAt: ContinuousClock.Instant?
    }

    /// - Parameters:
    ///   - counters: Earlier counts of the run, if it restarts after a reset of the database.
    ///   - savedAt: When `start` was saved as a checkpoint. Nil if it was not.
    ///   - observer: Receives the counts. Nil: none.
    package init(
        start: SequenceID, counters: RunCounters = RunCounters(), savedAt: ContinuousClock.Instant? = nil,
        observer: (any RunObserver)? = nil
    ) {
        self.counters = counters
        self.observer = observer
        tracker = SafeSequenceTracker(start: start)
        checkpoint = Checkpoint(sequence: start)
        current = Position(position: start, savedAt: savedAt)
    }

    /// All changes up to this sequence are finished, so a checkpoint may be saved here.
    package var safeSequence: SequenceID { tracker.safeSequence }

    /// Records a batch of the feed: the changes that need work, each possibly preceded by changes that need none.
    ///
    /// - Parameters:
    ///   - openings: For each change that needs work, its sequence and that of the previous row. A nil `preceding`
    ///     means that the previous row is the previous opening, or the position reached so far.
    ///   - end: The last row's sequence.
    /// - Returns: A ticket for each opening.
    package func advance(
        through openings: [(preceding: SequenceID?, sequence: SequenceID)], to end: SequenceID, changes: Int, bytes: Int
    ) -> [SafeSequenceTracker.Ticket] {
        count {
            $0.changes += changes
            $0.traffic.bytesIn += bytes
        }
        let tickets = openings.map { opening in
            if let preceding = opening.preceding { tracker.pass(to: preceding) }
            return tracker.open(opening.sequence)
        }
        tracker.pass(to: end)
        checkpoint.unsavedChanges += changes
        current.position = end
        updateBehindSince()
        wake()
        return tickets
    }

    /// Records that every effect of these changes is settled. Each ticket is used once.
    package func finish(_ tickets: [SafeSequenceTracker.Ticket]) {
        for ticket in tickets { tracker.finish(ticket) }
        checkpoint.hasUnsavedWork = true
        updateBehindSince()
        wake()
        if isSettled { settled.raise() }
    }

    private var isSettled: Bool { tracker.safeSequence == current.position }

    /// Returns once all changes that were read are finished, at the latest after `time`. For one task at a time.
    ///
    /// - Throws: `CancellationError`.
    package nonisolated func waitUntilSettled(atMost time: Duration) async throws {
        let deadline = ContinuousClock.now + time
        while await !isSettled, .now < deadline { try await settled.wait(until: deadline) }
    }

    /// Updates the counters.
    package func count(_ change: (inout RunCounters) -> Void) {
        guard let observer else { return change(&counters) }
        let before = counters
        change(&counters)
        if counters != before { observer.note(.counted(counters.difference(from: before))) }
    }

    /// Counts a request that is sent again.
    package func noteRetry() { count { $0.traffic.retries += 1 } }

    /// Counts dead letters that are about to be saved.
    ///
    /// - Returns: How many of them may be saved: up to and including the first one over the limit. ``check(_:)`` then
    ///   ends the run.
    package func admit(_ deadLetters: Int, _ limit: ErrorLimit?) -> Int {
        var admitted = 0
        while admitted < deadLetters, !exceeds(limit) {
            count { $0.deadLetters += 1 }
            admitted += 1
        }
        return admitted
    }

    /// - Throws: ``RunError`` with `.tooManyErrors` if the limit was exceeded.
    package func check(_ limit: ErrorLimit?) throws {
        guard let limit, exceeds(limit) else { return }
        throw RunError(limit, counters.failures)
    }

    /// Stays true: the refused dead letters must end the run, even if the percentage has fallen since.
    private func exceeds(_ limit: ErrorLimit?) -> Bool {
        isOverLimit = isOverLimit || limit?.isExceeded(by: counters.failures) == true
        return isOverLimit
    }

    // MARK: - Status

    /// The status of the run, without what only the pipeline knows: documents in flight, write rate, outages.
    package var facts: RunFacts {
        var facts = RunFacts()
        facts.phase = current.phase
        facts.counters = counters
        facts.position = current.position
        facts.safeSequence = tracker.safeSequence
        facts.newest = newest
        facts.behindSince = current.behindSince
        facts.savedAt = current.savedAt
        return facts
    }

    /// The newest known sequence. Nil if the feed has passed it.
    private var newest: SequenceID? {
        guard let newest = current.newest else { return current.phase == .following ? current.position : nil }
        return current.position.hasPassed(newest) == true ? current.position : newest
    }

    /// Records a new phase of the run.
    package func note(_ phase: RunFacts.Phase) {
        current.phase = phase
        updateBehindSince()
        if phase == .catchingUp { catchesUp.raise() }
        observer?.note(.progressed)
    }

    /// Records the newest known sequence of the database.
    package func note(newest: SequenceID?) { current.newest = newest ?? current.newest }

    private func updateBehindSince() {
        let isBehind = current.phase != .following || tracker.safeSequence != current.position
        current.behindSince = isBehind ? current.behindSince ?? .now : nil
    }

    // MARK: - Saving checkpoints

    /// Waits until the safe sequence has passed finished work, or many changes that needed none, which a crash would
    /// repeat. A few changes without work don't justify a disk write.
    ///
    /// For one caller at a time. Ignores cancellation: ``end()`` ends the wait.
    ///
    /// - Returns: False once the run has ended.
    package func waitUntilCheckpointIsDue() async -> Bool {
        while !isCheckpointDue, !isEnded {
            await withNamedContinuation("a checkpoint to save") { waiting = $0 }
        }
        return !isEnded
    }

    var isCheckpointDue: Bool {
        tracker.safeSequence != checkpoint.sequence
            && (checkpoint.hasUnsavedWork || checkpoint.unsavedChanges >= Self.savedChangeCount)
    }

    /// The safe sequence. Nil if it is already saved.
    package var unsaved: SequenceID? {
        tracker.safeSequence == checkpoint.sequence ? nil : tracker.safeSequence
    }

    /// Records that a checkpoint with this sequence is on disk.
    package func noteSaved(_ sequence: SequenceID) {
        checkpoint.sequence = sequence
        checkpoint.unsavedChanges = 0
        if sequence == tracker.safeSequence { checkpoint.hasUnsavedWork = false }
        current.savedAt = .now
        observer?.note(.progressed)
    }

    /// Makes ``waitUntilCheckpointIsDue()`` return false from now on.
    package func end() {
        isEnded = true
        wake()
    }

    private func wake() {
        guard isEnded || isCheckpointDue else { return }
        waiting?.resume()
        waiting = nil
    }
}

/// Tracks the safe sequence: the highest one up to which every change is finished.
///
/// Changes arrive in the order of the feed and finish in any order. Changes that need no work only advance the feed's
/// position. A change that needs work is *opened*: until it is finished, the safe sequence stays at the previous
/// change. Sequences are never compared: order is arrival order.
///
/// Memory: one sequence for each open change, bounded by the flow's budget, and for each finished change after the
/// oldest open one.
package struct SafeSequenceTracker: Sendable {
    /// Identifies an opened change.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct Entry {
        /// The sequence that is safe while this change is the oldest open one.
        let preceding: SequenceID
        var isFinished = false
    }

    private var position: SequenceID
    private var entries: [Entry] = []
    /// The number of `entries[0]`.
    private var firstNumber = 0
    /// Entries before this index are finished.
    private var oldest = 0

    /// - Parameter start: Safe until the feed advances.
    package init(start: SequenceID) { position = start }

    /// All changes up to this sequence are finished. Never moves backwards in order of arrival.
    package var safeSequence: SequenceID { oldest < entries.count ? entries[oldest].preceding : position }

    /// All changes up to `sequence` that were not opened need no work.
    package mutating func pass(to sequence: SequenceID) { position = sequence }

    /// Opens a ticket for the next change of the feed, which has this sequence and needs work.
    package mutating func open(_ sequence: SequenceID) -> Ticket {
        entries.append(Entry(preceding: position))
        position = sequence
        return Ticket(number: firstNumber + entries.count - 1)
    }

    /// Records that every effect of this change is settled. Each ticket is used once.
    package mutating func finish(_ ticket: Ticket) {
        let index = ticket.number - firstNumber
        precondition(index >= oldest && !entries[index].isFinished, "a change finishes once")
        entries[index].isFinished = true
        while oldest < entries.count, entries[oldest].isFinished { oldest += 1 }
        // Removes the finished front only occasionally, because each removal is linear in the rest.
        if oldest > 64, oldest * 2 > entries.count {
            entries.removeFirst(oldest)
            firstNumber += oldest
            oldest = 0
        }
    }
}
