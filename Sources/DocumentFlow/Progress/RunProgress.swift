package import GatewayClient
package import Locking

/// Where a run stands: the safe sequence and the counters, in one place for all stages.
package actor RunProgress {
    /// All counts of the run so far.
    package private(set) var counters: RunCounters
    private var tracker: SafeSequenceTracker
    private var saved: SequenceID
    /// Whether changes that needed work were finished since the last checkpoint.
    private var hasUnsavedWork = false
    /// How many changes were read since the last checkpoint.
    private var unsavedChanges = 0
    private var isEnded = false
    private var isOverLimit = false
    private var waiting: CheckedContinuation<Void, Never>?
    private let observer: (any RunObserver)?
    private var standing: Standing
    /// Raised whenever the run begins to catch up again.
    package nonisolated let catchesUp = Signal()
    /// Looks at the documents that are written.
    package nonisolated let expiry = ExpiryWatch()
    /// Raised when all changes that were read are finished.
    private nonisolated let settled = Signal()

    /// So many changes are saved soon, even if none of them needed work: a crash would read them all again.
    private static let changesWorthSaving = 1000

    /// What ``facts`` tells beyond counters and checkpoint.
    private struct Standing {
        var position: SequenceID
        var phase = RunFacts.Phase.catchingUp
        var newest: SequenceID?
        var behindSince: ContinuousClock.Instant? = .now
        var savedAt: ContinuousClock.Instant?
    }

    /// - Parameters:
    ///   - counters: Counts of the run so far, if it begins again after a reset of the database.
    ///   - savedAt: When `start` was saved as a checkpoint; nil if it was not.
    ///   - observer: Told what is counted. Nil: nobody.
    package init(
        start: SequenceID, counters: RunCounters = RunCounters(), savedAt: ContinuousClock.Instant? = nil,
        observer: (any RunObserver)? = nil
    ) {
        self.counters = counters
        self.observer = observer
        tracker = SafeSequenceTracker(start: start)
        saved = start
        standing = Standing(position: start, savedAt: savedAt)
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
        count {
            $0.changes += changes
            $0.bytesIn += bytes
        }
        let tickets = openings.map { opening in
            if let preceding = opening.preceding { tracker.pass(to: preceding) }
            return tracker.open(opening.sequence)
        }
        tracker.pass(to: end)
        unsavedChanges += changes
        standing.position = end
        noteStanding()
        wake()
        return tickets
    }

    /// Every effect of these changes is settled. Each ticket is used once.
    package func finish(_ tickets: [SafeSequenceTracker.Ticket]) {
        for ticket in tickets { tracker.finish(ticket) }
        hasUnsavedWork = true
        noteStanding()
        wake()
        if isSettled { settled.raise() }
    }

    private var isSettled: Bool { tracker.safeSequence == standing.position }

    /// Returns once all changes that were read are finished, and after `time` at the latest. For one task at a time.
    ///
    /// - Throws: `CancellationError`.
    package nonisolated func untilSettled(atMost time: Duration) async throws {
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
    package func noteRetry() { count { $0.retries += 1 } }

    /// Counts dead letters that are about to be saved.
    ///
    /// - Returns: How many of them may be saved: up to and including the first one over the limit. ``check(_:)`` then
    ///   ends the run.
    package func admit(_ deadLetters: Int, _ limit: ErrorLimit?) -> Int {
        var admitted = 0
        while admitted < deadLetters, !isBeyond(limit) {
            count { $0.deadLetters += 1 }
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

    // MARK: - For whoever asks

    /// Where the run stands. Without what only the pipeline knows: the documents in flight, the write rate, outages.
    package var facts: RunFacts {
        var facts = RunFacts()
        facts.phase = standing.phase
        facts.counters = counters
        facts.position = standing.position
        facts.safeSequence = tracker.safeSequence
        facts.newest = newest
        facts.behindSince = standing.behindSince
        facts.savedAt = standing.savedAt
        return facts
    }

    /// The newest known sequence, unless the feed has passed it.
    private var newest: SequenceID? {
        guard let newest = standing.newest else { return standing.phase == .following ? standing.position : nil }
        return standing.position.hasPassed(newest) == true ? standing.position : newest
    }

    /// The run does something else from now on.
    package func note(_ phase: RunFacts.Phase) {
        standing.phase = phase
        noteStanding()
        if phase == .catchingUp { catchesUp.raise() }
        observer?.note(.progressed)
    }

    /// The database has a change with this sequence.
    package func note(newest: SequenceID?) { standing.newest = newest ?? standing.newest }

    private func noteStanding() {
        let isBehind = standing.phase != .following || tracker.safeSequence != standing.position
        standing.behindSince = isBehind ? standing.behindSince ?? .now : nil
    }

    // MARK: - Saving checkpoints

    /// Waits until the safe sequence has passed finished work, or many changes that needed none: a crash would repeat
    /// that. A few changes that needed no work are not worth a write to the disk.
    ///
    /// For one caller at a time. Does not react to cancellation: ``end()`` ends the wait.
    ///
    /// - Returns: False once the run has ended.
    package func untilCheckpointIsDue() async -> Bool {
        while !isCheckpointDue, !isEnded {
            await withCheckedContinuation { waiting = $0 }
        }
        return !isEnded
    }

    var isCheckpointDue: Bool {
        tracker.safeSequence != saved && (hasUnsavedWork || unsavedChanges >= Self.changesWorthSaving)
    }

    /// The safe sequence; nil if it is already saved.
    package var unsaved: SequenceID? { tracker.safeSequence == saved ? nil : tracker.safeSequence }

    /// A checkpoint with this sequence is on disk.
    package func noteSaved(_ sequence: SequenceID) {
        saved = sequence
        unsavedChanges = 0
        if sequence == tracker.safeSequence { hasUnsavedWork = false }
        standing.savedAt = .now
        observer?.note(.progressed)
    }

    /// From now on ``untilCheckpointIsDue()`` returns false.
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

/// Knows the safe sequence: the highest one below which every change is finished.
///
/// Changes arrive in the order of the feed and finish in any order. Changes that need no work only move the feed's
/// position; each that does is *opened*, and holds the safe sequence back to the change before it until it is finished.
/// Sequences are never compared: order is arrival order.
///
/// Memory is that of the open changes, which the flow's budget bounds, and of finished ones behind the oldest open one:
/// a sequence each.
package struct SafeSequenceTracker: Sendable {
    /// Stands for one opened change.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct Entry {
        /// The sequence that is safe as long as this change is the oldest open one.
        let preceding: SequenceID
        var isFinished = false
    }

    private var position: SequenceID
    private var entries: [Entry] = []
    /// The number of `entries[0]`.
    private var firstNumber = 0
    /// Entries before this index are finished.
    private var oldest = 0

    /// `start` is safe until the feed moves on.
    package init(start: SequenceID) { position = start }

    /// Everything up to here is finished. Never moves backwards in the order of arrival.
    package var safeSequence: SequenceID { oldest < entries.count ? entries[oldest].preceding : position }

    /// All changes up to `sequence` that were not opened need no work.
    package mutating func pass(to sequence: SequenceID) { position = sequence }

    /// Opens a ticket for the next change of the feed, which has this sequence and needs work.
    package mutating func open(_ sequence: SequenceID) -> Ticket {
        entries.append(Entry(preceding: position))
        position = sequence
        return Ticket(number: firstNumber + entries.count - 1)
    }

    /// Every effect of this change is settled. Each ticket is used once.
    package mutating func finish(_ ticket: Ticket) {
        let index = ticket.number - firstNumber
        precondition(index >= oldest && !entries[index].isFinished, "a change finishes once")
        entries[index].isFinished = true
        while oldest < entries.count, entries[oldest].isFinished { oldest += 1 }
        // Remove the finished front only now and then: each removal is linear in what remains.
        if oldest > 64, oldest * 2 > entries.count {
            entries.removeFirst(oldest)
            firstNumber += oldest
            oldest = 0
        }
    }
}
