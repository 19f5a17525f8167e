/// The changes of a partition that are in work: which may start, and what is to be stored.
///
/// One document is never in work twice, and its changes are answered in order. Different documents may finish in any
/// order; the position moves when no gap is below it.
struct PartitionWindow {
    /// What the processor gets next.
    enum Batch: Equatable {
        case together([LoggedChange])
        /// Nothing else may be in work meanwhile; the attempt must be stored first.
        case alone(LoggedChange, Attempt)
    }

    /// A document with changes in the window.
    private struct Subject {
        /// In order; with the parked change, which is the oldest.
        var pending: [LoggedChange] = []
        /// What the processor has: the newest of the changes that are answered with it.
        var running: LoggedChange?
        var covered: [Int64] = []
        /// The place of the oldest change without an answer.
        var firstN: Int64
        /// Whether the document has a parked change in the log.
        var isParked: Bool
        /// The place of the parked change when it was read.
        var parkedN: Int64 = 0
        /// Those of other processes, and those that failed.
        var tries: Tries
        /// Whether they omit members that were absent for some time.
        var isSettled: Bool
        var parks = 0
        var mustBeAlone = false
        var isAlone = false
        /// Whether it is only counted, while a parked change of it waits for something.
        var isBesideParked = false
    }

    private struct Trial {
        var attempt: Attempt
        var isSurvived = false
    }

    private var subjects: [DocumentKey: Subject] = [:]
    private var ready = Queue<DocumentKey>()
    private var suspects = Queue<DocumentKey>()
    /// Places that were read, in order, and are not below the position.
    private var open = Queue<Int64>()
    private var answered: Set<Int64> = []
    /// For parked documents that were answered under this claim: up to which place, if that is not read yet. An owner
    /// before this one read it, and parked it.
    private var answeredAhead: [DocumentKey: Int64] = [:]
    private var draft: Outcome
    /// Documents whose parked change is stored, changed or removed by the draft.
    private var parkedInDraft: Set<DocumentKey> = []
    private var unparkedInDraft: Set<DocumentKey> = []
    /// What an attempt counts, unless the process has survived it for some time: then it counts 1.
    private let weight: Int
    /// A document is not tried again if its tries add up to this.
    private let limit: Int
    private let retryDelay: Duration
    private let settlingTime: Duration
    /// Whether what is read from now on tells which processes have ended. See ``FleetSettings/Isolation/settlingTime``.
    var isSettled = false
    /// Changes up to this place are tried alone. See ``beCareful(upTo:)``.
    private var carefulUpTo: Int64 = 0

    /// The place of the last change that was read.
    private(set) var readUpTo: Int64
    /// How many changes the processor has.
    private(set) var runningCount = 0
    /// What the processor has that nothing else may be in work with.
    private var trial: Trial?
    /// How many changes were read that are not below the position.
    var count: Int { open.count }

    init(position: Int64, settings: FleetSettings) {
        readUpTo = position
        draft = Outcome(position: position)
        weight = settings.isolation.survivalsPerAttempt
        limit = settings.isolation.attempts * weight
        retryDelay = settings.isolation.retryDelay
        settlingTime = settings.isolation.settlingTime
    }

    /// From now on changes up to this place are tried alone.
    mutating func beCareful(upTo n: Int64) { carefulUpTo = n }

    // MARK: Reading

    /// Adds changes that were read after ``readUpTo``.
    mutating func add(_ changes: [LoggedChange]) {
        for change in changes {
            readUpTo = change.n
            open.append(change.n)
            let id = change.id
            if change.n <= max(subjects[id]?.parkedN ?? 0, answeredAhead[id] ?? 0) {
                answered.insert(change.n)
                continue
            }
            let isCount = change.entry.kind == .uncounted
            let isBesideParked = subjects[id]?.isBesideParked ?? false
            let isParked =
                isBesideParked
                || subjects[id] == nil
                    && (change.isParked && !unparkedInDraft.contains(id) || parkedInDraft.contains(id))
            if isParked, !isCount {
                // The parked change will be decided as of then: only what the feed says may replace it.
                if change.entry.kind.isOfFeed {
                    draft.joined.append(change)
                    parkedInDraft.insert(id)
                }
                answered.insert(change.n)
            } else if var subject = subjects[id] {
                subject.pending.append(change)
                subject.tries = subject.tries.merged(with: change.tries)
                subject.isSettled = subject.isSettled && isSettled
                subjects[id] = subject
            } else {
                // What a document adds to totals does not wait for its parked change.
                subjects[id] = Subject(
                    pending: [change], firstN: change.n, isParked: false, tries: change.tries, isSettled: isSettled,
                    isBesideParked: isParked)
                ready.append(id)
            }
        }
        if !answeredAhead.isEmpty { answeredAhead = answeredAhead.filter { $0.value > readUpTo } }
        movePosition()
    }

    /// Adds parked changes whose time has come. What is in work or about to be stored is left out.
    mutating func addDue(_ changes: [LoggedChange]) {
        for change in changes {
            let id = change.id
            guard subjects[id] == nil, !parkedInDraft.contains(id), !unparkedInDraft.contains(id) else { continue }
            subjects[id] = Subject(
                pending: [change], firstN: change.firstN, isParked: true, parkedN: change.n, tries: change.tries,
                isSettled: isSettled, parks: change.parks)
            ready.append(id)
        }
    }

    // MARK: Starting

    /// Whether there are changes that are not in work.
    var hasReady: Bool { !ready.isEmpty || !suspects.isEmpty }
    /// Whether ``take(atMost:)`` may give something.
    var hasStartable: Bool { trial == nil && (suspects.isEmpty ? !ready.isEmpty : runningCount == 0) }
    /// Whether that is one which must be tried alone.
    var startsAlone: Bool { hasStartable && !suspects.isEmpty }

    /// What may start now. A suspect waits until nothing is in work, and nothing starts before it.
    mutating func take(atMost limit: Int) -> Batch? {
        guard trial == nil else { return nil }
        var batch: [LoggedChange] = []
        while true {
            if let id = suspects.first {
                guard runningCount == 0, batch.isEmpty else { break }
                _ = suspects.popFirst()
                if let alone = takeAlone(id) { return alone }
                continue
            }
            guard batch.count < limit, let id = ready.popFirst() else { break }
            guard let subject = subjects[id] else { continue }
            if subject.mustBeAlone || !subject.tries.isEmpty || subject.firstN <= carefulUpTo {
                suspects.append(id)
            } else if let change = start(id) {
                batch.append(change)
            }
        }
        return batch.isEmpty ? nil : .together(batch)
    }

    /// Nil if it was tried often enough: then it is dead. If processes that have tried it may still come back, it waits
    /// for them.
    private mutating func takeAlone(_ id: DocumentKey) -> Batch? {
        guard let change = start(id), let subject = subjects[id] else { return nil }
        guard subject.tries.total < limit else {
            if subject.isSettled {
                settle(id, dead: "too many tries alone failed or ended the process")
            } else {
                park(
                    id, tries: subject.tries, parks: max(subject.parks, 1), settlingTime,
                    "processes that tried it may come back")
            }
            movePosition()
            return nil
        }
        let attempt = Attempt(n: change.n, id: id, isParked: subject.isParked, others: subject.tries, weight: weight)
        trial = Trial(attempt: attempt)
        subjects[id]?.isAlone = true
        return .alone(change, attempt)
    }

    private mutating func start(_ id: DocumentKey) -> LoggedChange? {
        guard var subject = subjects[id], subject.running == nil,
            var newest = LoggedChange.standing(for: subject.pending)
        else { return nil }
        newest.tries = subject.tries
        newest.parks = subject.parks
        newest.firstN = subject.firstN
        subject.running = newest
        subject.covered = subject.pending.map(\.n)
        subject.pending = []
        subjects[id] = subject
        runningCount += 1
        return newest
    }

    // MARK: Surviving

    /// What is to be stored when the process has survived the try that is under way for some time. Nil: there is none, or
    /// it is stored already.
    var survival: Attempt? {
        guard let trial, !trial.isSurvived else { return nil }
        var attempt = trial.attempt
        attempt.weight = 1
        return attempt
    }

    /// The survival is stored.
    mutating func survive() { trial?.isSurvived = true }

    // MARK: Answers

    /// Takes the answer to a change that the processor has. A second answer is ignored.
    mutating func answer(_ change: LoggedChange, _ verdict: Verdict) {
        let id = change.id
        guard let subject = subjects[id], let running = subject.running, running.n == change.n else { return }
        if subject.isAlone { trial = nil }
        defer { movePosition() }
        // Its parked change keeps its place, and is counted with its decision.
        if subject.isBesideParked, verdict != .postponed { return settle(id, dead: nil) }
        switch verdict {
        case .done: settle(id, dead: nil)
        case .dead(let reason): settle(id, dead: reason)
        case .parked(let delay, let reason): park(id, tries: Tries(), parks: subject.parks + 1, delay, reason)
        // An answer counts in full, however long it took.
        case .failed(let reason) where subject.isAlone: fail(id, subject.tries.addingFailed(weight), reason)
        case .failed: putBack(id, isSuspect: true)
        case .postponed:
            // It was not tried. This process lives, so nothing counts.
            putBack(id, isSuspect: subject.mustBeAlone || subject.isAlone)
        }
    }

    private mutating func fail(_ id: DocumentKey, _ tries: Tries, _ reason: String) {
        guard let subject = subjects[id] else { return }
        subjects[id]?.tries = tries
        guard tries.total < limit else { return settle(id, dead: reason) }
        park(id, tries: tries, parks: subject.parks + 1, retryDelay * (1 << min(number(tries) - 1, 10)), reason)
    }

    /// How many tries these are at least.
    private func number(_ tries: Tries) -> Int { (tries.total + weight - 1) / weight }

    private mutating func settle(_ id: DocumentKey, dead reason: String?) {
        guard var subject = subjects[id], let running = subject.running else { return }
        runningCount -= 1
        markAnswered(subject.covered)
        if let reason {
            var change = running
            change.attempts = number(subject.tries)
            draft.dead.append(DeadChange(change, reason: reason))
        }
        if subject.isParked {
            draft.unparked.append(id)
            unparkedInDraft.insert(id)
            if running.n > readUpTo { answeredAhead[id] = running.n }
        }
        guard let next = subject.pending.first else {
            subjects[id] = nil
            return
        }
        subject = Subject(
            pending: subject.pending, firstN: next.n, isParked: false,
            tries: subject.pending.reduce(Tries()) { $0.merged(with: $1.tries) }, isSettled: subject.isSettled,
            isBesideParked: subject.isBesideParked)
        subjects[id] = subject
        ready.append(id)
    }

    /// Changes that came meanwhile are parked with it.
    private mutating func park(_ id: DocumentKey, tries: Tries, parks: Int, _ delay: Duration, _ reason: String) {
        guard let subject = subjects.removeValue(forKey: id), let running = subject.running,
            var change = LoggedChange.standing(for: [running] + subject.pending)
        else { return }
        runningCount -= 1
        markAnswered(subject.covered)
        markAnswered(subject.pending.map(\.n))
        (change.firstN, change.tries, change.parks) = (subject.firstN, tries, parks)
        draft.parked.append(Parking(change, delay: delay, reason: reason))
        parkedInDraft.insert(id)
    }

    private mutating func putBack(_ id: DocumentKey, isSuspect: Bool) {
        guard var subject = subjects[id], let running = subject.running else { return }
        runningCount -= 1
        // The older ones that are answered with it need not be told apart any more, except by their places.
        subject.pending =
            subject.covered.map { n in
                var change = running
                change.n = n
                return change
            } + subject.pending
        subject.running = nil
        subject.covered = []
        subject.mustBeAlone = isSuspect
        subject.isAlone = false
        subjects[id] = subject
        // First again: it may be waited for elsewhere, see ``TrialGate``.
        if subject.mustBeAlone { suspects.prepend(id) } else { ready.append(id) }
    }

    /// Parked changes are below the position already, or were answered when they were parked.
    private mutating func markAnswered(_ places: [Int64]) {
        for n in places where n > draft.position { answered.insert(n) }
    }

    private mutating func movePosition() {
        while let n = open.first, answered.remove(n) != nil {
            _ = open.popFirst()
            draft.position = n
        }
    }

    // MARK: Storing

    /// Whether there is something to store since `position` was.
    func needsCommit(_ position: Int64) -> Bool {
        draft.position > position || !draft.unparked.isEmpty || !draft.dead.isEmpty || !draft.parked.isEmpty
            || !draft.joined.isEmpty
    }

    /// What is to be stored now. Once it is, call ``stored()``, before anything else is read or answered.
    var outcome: Outcome { draft }

    /// The outcome is stored.
    mutating func stored() {
        draft = Outcome(position: draft.position)
        parkedInDraft = []
        unparkedInDraft = []
    }
}

/// First in, first out.
struct Queue<Element> {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func prepend(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
