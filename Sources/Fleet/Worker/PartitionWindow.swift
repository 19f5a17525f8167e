/// The changes of a partition under way: which may start, and what must be stored.
///
/// One document is never processed twice at once, and its changes are answered in order. Different documents may finish
/// in any order; the position moves when there is no gap below it.
struct PartitionWindow {
    /// What the processor gets next.
    enum Batch: Equatable {
        case together([LoggedChange])
        /// In isolation: nothing else may be under way, and the attempt must be stored first.
        case alone(LoggedChange, Attempt)
    }

    /// A document with changes in the window.
    private struct Subject {
        /// In order, including the parked change, which is the oldest.
        var pending: [LoggedChange] = []
        /// The change that the processor works on: the newest of those that its answer covers.
        var running: LoggedChange?
        var covered: [Int64] = []
        /// The place of the oldest change without an answer.
        var firstPosition: Int64
        /// Whether the document has a parked change in the log.
        var isParked: Bool
        /// The place of the parked change when it was read.
        var parkedPosition: Int64 = 0
        /// Attempts of other processes, and attempts that failed.
        var isolatedAttempts: IsolatedAttempts
        /// Whether attempts of members that were absent for some time are already left out.
        var isSettled: Bool
        var parks = 0
        var mustBeIsolated = false
        var isIsolated = false
        /// Whether it is only counted while its parked change waits.
        var isOnlyCounted = false

        mutating func add(_ change: LoggedChange, isSettled: Bool) {
            pending.append(change)
            isolatedAttempts = isolatedAttempts.merged(with: change.isolatedAttempts)
            self.isSettled = self.isSettled && isSettled
        }
    }

    private struct Trial {
        var attempt: Attempt
        var isSurvived = false
    }

    private let isolation: FleetSettings.Isolation
    private var subjects: [DocumentKey: Subject] = [:]
    private var ready = Queue<DocumentKey>()
    private var suspects = Queue<DocumentKey>()
    private var places: PartitionPlaces
    private var draft: OutcomeDraft
    /// Parked documents that were answered under this claim, up to a place that this owner has not read yet: an earlier
    /// owner read that place and parked it.
    private var answeredAhead: [DocumentKey: Int64] = [:]
    /// Whether changes that are read from now on show which processes have ended. See
    /// ``FleetSettings/Isolation/settlingTime``.
    var isSettled = false
    /// Changes up to this place are attempted in isolation. See ``isolateChanges(upTo:)``.
    private var isolatedUpTo: Int64 = 0
    /// How many changes the processor works on.
    private(set) var runningCount = 0
    /// The attempt in isolation that is under way.
    private var trial: Trial?

    /// The place of the last change that was read.
    var readUpTo: Int64 { places.readUpTo }
    /// How many changes were read that are not below the position.
    var count: Int { places.count }

    init(position: Int64, settings: FleetSettings) {
        isolation = settings.isolation
        places = PartitionPlaces(position: position)
        draft = OutcomeDraft(position: position)
    }

    /// From now on changes up to this place are attempted in isolation.
    mutating func isolateChanges(upTo n: Int64) { isolatedUpTo = n }

    // MARK: Reading

    /// Adds changes that were read after ``readUpTo``.
    mutating func add(_ changes: [LoggedChange]) {
        for change in changes { add(change) }
        if !answeredAhead.isEmpty { answeredAhead = answeredAhead.filter { $0.value > readUpTo } }
        movePosition()
    }

    private mutating func add(_ change: LoggedChange) {
        places.read(change.n)
        let id = change.id
        let subject = subjects[id]
        guard change.n > max(subject?.parkedPosition ?? 0, answeredAhead[id] ?? 0) else {
            return places.answer(change.n)
        }
        let isParked = subject?.isOnlyCounted ?? draft.isParked(id, inLog: change.isParked)
        if isParked, change.entry.kind != .uncounted {
            // The parked change is decided with the content at that time: only a change from the feed may replace it.
            if change.entry.kind.isFromFeed { draft.join(change) }
            places.answer(change.n)
        } else if subject != nil {
            subjects[id]?.add(change, isSettled: isSettled)
        } else {
            // A document's contribution to totals does not wait for its parked change.
            subjects[id] = Subject(
                pending: [change], firstPosition: change.n, isParked: false, isolatedAttempts: change.isolatedAttempts,
                isSettled: isSettled,
                isOnlyCounted: isParked)
            ready.append(id)
        }
    }

    /// Adds parked changes that are due. Documents that are under way or about to be stored are left out.
    mutating func addDue(_ changes: [LoggedChange]) {
        for change in changes {
            let id = change.id
            guard subjects[id] == nil, !draft.touchesParked(id) else { continue }
            subjects[id] = Subject(
                pending: [change], firstPosition: change.firstPosition, isParked: true, parkedPosition: change.n,
                isolatedAttempts: change.isolatedAttempts,
                isSettled: isSettled, parks: change.parks)
            ready.append(id)
        }
    }

    // MARK: Starting

    /// Whether there are changes that have not started.
    var hasReady: Bool { !ready.isEmpty || !suspects.isEmpty }
    /// Whether ``take(atMost:)`` may return a batch.
    var hasStartable: Bool { trial == nil && (suspects.isEmpty ? !ready.isEmpty : runningCount == 0) }
    /// Whether that batch must be attempted in isolation.
    var startsInIsolation: Bool { hasStartable && !suspects.isEmpty }

    /// The batch that may start now. A suspect waits until nothing is under way, and nothing starts before it.
    mutating func take(atMost limit: Int) -> Batch? {
        guard trial == nil else { return nil }
        var batch: [LoggedChange] = []
        while true {
            if let id = suspects.first {
                guard runningCount == 0, batch.isEmpty else { break }
                _ = suspects.popFirst()
                if let alone = takeInIsolation(id) { return alone }
                continue
            }
            guard batch.count < limit, let id = ready.popFirst() else { break }
            guard let subject = subjects[id] else { continue }
            if subject.mustBeIsolated || !subject.isolatedAttempts.isEmpty || subject.firstPosition <= isolatedUpTo {
                suspects.append(id)
            } else if let change = start(id) {
                batch.append(change)
            }
        }
        return batch.isEmpty ? nil : .together(batch)
    }

    /// Nil if it has had all its attempts: then it is dead-lettered. While processes that attempted it may still
    /// rejoin, it waits for them.
    private mutating func takeInIsolation(_ id: DocumentKey) -> Batch? {
        guard let change = start(id), let subject = subjects[id] else { return nil }
        guard subject.isolatedAttempts.total < isolation.maximumWeight else {
            if subject.isSettled {
                settle(id, dead: "failed or crashed too often in isolation")
            } else {
                park(
                    id, isolatedAttempts: subject.isolatedAttempts, parks: max(subject.parks, 1),
                    isolation.settlingTime,
                    "waiting for crashed members to return")
            }
            movePosition()
            return nil
        }
        let attempt = Attempt(
            n: change.n, id: id, isParked: subject.isParked, others: subject.isolatedAttempts,
            weight: isolation.survivalsPerAttempt)
        trial = Trial(attempt: attempt)
        subjects[id]?.isIsolated = true
        return .alone(change, attempt)
    }

    private mutating func start(_ id: DocumentKey) -> LoggedChange? {
        guard var subject = subjects[id], subject.running == nil,
            var newest = LoggedChange.representative(of: subject.pending)
        else { return nil }
        newest.isolatedAttempts = subject.isolatedAttempts
        newest.parks = subject.parks
        newest.firstPosition = subject.firstPosition
        subject.running = newest
        subject.covered = subject.pending.map(\.n)
        subject.pending = []
        subjects[id] = subject
        runningCount += 1
        return newest
    }

    // MARK: Surviving

    /// What must be stored when the process has survived the current attempt for some time. Nil: there is no attempt,
    /// or it is stored already.
    var survivedAttempt: Attempt? {
        guard let trial, !trial.isSurvived else { return nil }
        var attempt = trial.attempt
        attempt.weight = 1
        return attempt
    }

    /// The survival is stored.
    mutating func survive() { trial?.isSurvived = true }

    // MARK: Answers

    /// Takes the processor's answer to a change. A second answer is ignored.
    mutating func answer(_ change: LoggedChange, _ verdict: Verdict) {
        let id = change.id
        guard let subject = subjects[id], let running = subject.running, running.n == change.n else { return }
        if subject.isIsolated { trial = nil }
        defer { movePosition() }
        // The parked change stays parked, and is counted when it is decided.
        if subject.isOnlyCounted, verdict != .postponed { return settle(id, dead: nil) }
        switch verdict {
        case .done: settle(id, dead: nil)
        case .dead(let reason): settle(id, dead: reason)
        case .parked(let delay, let reason):
            park(id, isolatedAttempts: IsolatedAttempts(), parks: subject.parks + 1, delay, reason)
        // An answer counts in full, however long it took.
        case .failed(let reason) where subject.isIsolated:
            fail(id, subject.isolatedAttempts.addingFailed(isolation.survivalsPerAttempt), reason)
        case .failed: putBack(id, isSuspect: true)
        case .postponed:
            // It was not attempted. This process still runs, so nothing counts.
            putBack(id, isSuspect: subject.mustBeIsolated || subject.isIsolated)
        }
    }

    private mutating func fail(_ id: DocumentKey, _ isolatedAttempts: IsolatedAttempts, _ reason: String) {
        guard let subject = subjects[id] else { return }
        subjects[id]?.isolatedAttempts = isolatedAttempts
        guard isolatedAttempts.total < isolation.maximumWeight else { return settle(id, dead: reason) }
        park(
            id, isolatedAttempts: isolatedAttempts, parks: subject.parks + 1, isolation.delay(after: isolatedAttempts),
            reason)
    }

    private mutating func settle(_ id: DocumentKey, dead reason: String?) {
        guard var subject = subjects[id], let running = subject.running else { return }
        runningCount -= 1
        places.answer(subject.covered)
        if let reason {
            var change = running
            change.attempts = isolation.number(subject.isolatedAttempts)
            draft.addDead(change, reason)
        }
        if subject.isParked {
            draft.unpark(id)
            if running.n > readUpTo { answeredAhead[id] = running.n }
        }
        guard let next = subject.pending.first else {
            subjects[id] = nil
            return
        }
        subject = Subject(
            pending: subject.pending, firstPosition: next.n, isParked: false,
            isolatedAttempts: subject.pending.reduce(IsolatedAttempts()) { $0.merged(with: $1.isolatedAttempts) },
            isSettled: subject.isSettled,
            isOnlyCounted: subject.isOnlyCounted)
        subjects[id] = subject
        ready.append(id)
    }

    /// Later changes of the document are parked with it.
    private mutating func park(
        _ id: DocumentKey, isolatedAttempts: IsolatedAttempts, parks: Int, _ delay: Duration, _ reason: String
    ) {
        guard let subject = subjects.removeValue(forKey: id), let running = subject.running,
            var change = LoggedChange.representative(of: [running] + subject.pending)
        else { return }
        runningCount -= 1
        places.answer(subject.covered)
        places.answer(subject.pending.map(\.n))
        (change.firstPosition, change.isolatedAttempts, change.parks) = (subject.firstPosition, isolatedAttempts, parks)
        draft.park(change, delay, reason)
    }

    private mutating func putBack(_ id: DocumentKey, isSuspect: Bool) {
        guard var subject = subjects[id], let running = subject.running else { return }
        runningCount -= 1
        // Of the older changes that its answer covers, only the places matter from now on.
        subject.pending =
            subject.covered.map { n in
                var change = running
                change.n = n
                return change
            } + subject.pending
        subject.running = nil
        subject.covered = []
        subject.mustBeIsolated = isSuspect
        subject.isIsolated = false
        subjects[id] = subject
        // It stays first, because the partition may already wait for exclusive use: see ``IsolationGate``.
        if subject.mustBeIsolated { suspects.prepend(id) } else { ready.append(id) }
    }

    private mutating func movePosition() { draft.move(to: places.movePosition()) }

    // MARK: Storing

    /// Whether there is something to store besides `position`.
    func needsCommit(_ position: Int64) -> Bool { draft.hasMore(than: position) }

    /// What must be stored now. Call ``stored()`` once it is, before anything else is read or answered.
    var outcome: PartitionOutcome { draft.outcome }

    /// The outcome is stored.
    mutating func stored() { draft = OutcomeDraft(position: draft.outcome.position) }
}

extension FleetSettings.Isolation {
    /// A document is dead-lettered when the weights of its attempts add up to this.
    fileprivate var maximumWeight: Int { attempts * survivalsPerAttempt }

    /// The number of attempts that this weight stands for, rounded up.
    fileprivate func number(_ isolatedAttempts: IsolatedAttempts) -> Int {
        (isolatedAttempts.total + survivalsPerAttempt - 1) / survivalsPerAttempt
    }

    fileprivate func delay(after isolatedAttempts: IsolatedAttempts) -> Duration {
        retryDelay * (1 << min(number(isolatedAttempts) - 1, 10))
    }
}
