internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// Passes candidates from readers to writers: one at a time per document, otherwise in order of arrival.
///
/// Changes of a document in progress are merged into one candidate with the newest content. ``TakingRule`` says when an
/// idle writer takes what there is: an idle bot reacts at once, and a busy one writes in bulk.
actor CandidateQueue {
    /// When a postponed candidate is due.
    typealias Instant = ContinuousClock.Instant

    private var ready: [Candidate] = []
    /// Documents in progress: the number of candidates (ready, postponed or taken) and holds.
    private var busy: [DocumentID: Int] = [:]
    /// For each busy document, the merged changes that arrived meanwhile.
    private var waiting: [DocumentID: Candidate] = [:]
    private var postponed: [(due: Instant, candidate: Candidate)] = []
    private var rule = TakingRule()
    private var isFinished = false
    private var isAborted = false
    private var isStopping = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []
    private var idleTimer: CheckedContinuation<Void, Never>?
    private var waitingForIdle: [CheckedContinuation<Void, Never>] = []

    private let now: @Sendable () -> Instant

    /// Empty and open.
    init(now: @escaping @Sendable () -> Instant = { .now }) { self.now = now }

    /// The part of the memory budget that the queue has released.
    struct Freed: Sendable, Equatable {
        /// The sum of ``Content/cost``.
        var bytes = 0
        /// Candidates that were merged into others.
        var documents = 0
    }

    /// Adds candidates, in order of arrival.
    ///
    /// - Returns: What became free of the budget because changes of one document were merged.
    @discardableResult
    func submit(_ candidates: [Candidate]) -> Freed {
        var freed = Freed()
        for candidate in candidates {
            if busy[candidate.id] == nil {
                busy[candidate.id] = 1
                ready.append(candidate)
            } else if let older = waiting[candidate.id] {
                let merged = older.merged(into: candidate)
                freed.bytes += older.content.cost + candidate.content.cost - merged.content.cost
                freed.documents += 1
                waiting[candidate.id] = merged
            } else {
                waiting[candidate.id] = candidate
            }
        }
        wake()
        return freed
    }

    /// Whether more candidates will come at once, so that they are worth gathering. False at first.
    func gather(_ gathers: Bool) {
        rule.gathers = gathers
        wake()
    }

    /// Takes up to `limit` candidates, no two of one document; waits until there are any that ``TakingRule`` gives.
    /// What the writer took before is settled. Empty once the queue is finished and nothing is left, or when it is
    /// aborted. Cancelling a task that waits here aborts the queue for all.
    func take(limit: Int, byteLimit: Int, writer: Int = 0) async -> [Candidate] {
        rule.noteReturn(writer: writer)
        while !mayTake, !isAborted {
            if isFinished, busy.isEmpty { return [] }
            await withTaskCancellationHandler {
                await withCheckedContinuation { idleWriters.append($0) }
            } onCancel: {
                // Runs after this actor has stored the continuation: the actor is not free before.
                Task { await abort() }
            }
        }
        if isAborted { return [] }
        var bytes = 0
        let taken = Array(
            ready.prefix(limit).prefix { candidate in
                defer { bytes += candidate.content.byteCount }
                return bytes < byteLimit
            })
        // Linear in what remains, which the budget bounds.
        ready.removeFirst(taken.count)
        rule.noteTake(writer: writer, now: now())
        wake()
        return taken
    }

    private var mayTake: Bool {
        !ready.isEmpty
            && rule.mayTake(documents: ready.count, bytes: ready.reduce(0) { $0 + $1.content.byteCount }, now: now())
    }

    /// Merges what arrived for this candidate's document meanwhile. To be called before the document is read again:
    /// that content is at least as new.
    ///
    /// A tombstone is left: it is a change of its own, and reading the document does not bring it back.
    ///
    /// - Returns: What became free of the budget.
    func absorbWaiting(into candidate: inout Candidate) -> Freed {
        guard let newer = waiting[candidate.id], !newer.content.isDeleted else { return Freed() }
        waiting[candidate.id] = nil
        candidate.absorb(newer)
        return Freed(bytes: newer.content.cost, documents: 1)
    }

    /// Makes candidates that were taken ready again, behind the others.
    func putBack(_ candidates: [Candidate]) {
        ready += candidates
        wake()
    }

    /// The same, before the others: they were taken first.
    func putBackFirst(_ candidates: ArraySlice<Candidate>) {
        ready.insert(contentsOf: candidates, at: 0)
        wake()
    }

    /// These candidates are settled; the next one of each document becomes ready.
    func release(_ candidates: [Candidate]) { release(candidates.map(\.id)) }

    /// Those of the documents that have candidates which are not settled.
    func busy(among documents: [DocumentID]) -> Set<DocumentID> {
        busy.isEmpty ? [] : Set(documents.filter { busy[$0] != nil })
    }

    /// Returns once everything that was submitted is settled, or the queue is aborted.
    ///
    /// - Returns: False if it was aborted.
    func untilIdle() async -> Bool {
        while !busy.isEmpty, !isAborted {
            await withTaskCancellationHandler {
                await withCheckedContinuation { waitingForIdle.append($0) }
            } onCancel: {
                Task { await abort() }
            }
        }
        return !isAborted
    }

    /// Keeps candidates of these documents from being taken until they are released. They are being written because of
    /// other documents, and the ledger does not have that on disk yet.
    func hold(_ documents: some Collection<DocumentID>) {
        for document in documents { busy[document, default: 0] += 1 }
    }

    func release(_ documents: some Collection<DocumentID>) {
        for document in documents {
            guard let count = busy[document] else { continue }
            guard count == 1 else {
                busy[document] = count - 1
                continue
            }
            busy[document] = nil
            guard let next = waiting.removeValue(forKey: document) else { continue }
            busy[document] = 1
            ready.append(next)
        }
        wake()
    }

    /// Nothing more will be submitted. What is queued is still processed.
    func finish() {
        isFinished = true
        rule.gathers = false
        wake()
    }

    /// No more candidates are taken. A later run sees again what is not finished.
    func abort() {
        isAborted = true
        wake()
    }

    private func wake() {
        if isAborted { wakeTimer() }
        if isAborted || busy.isEmpty {
            let woken = waitingForIdle
            waitingForIdle = []
            for continuation in woken { continuation.resume() }
        }
        guard !idleWriters.isEmpty else { return }
        if isAborted || isFinished && busy.isEmpty {
            let woken = idleWriters
            idleWriters = []
            for continuation in woken { continuation.resume() }
        } else if mayTake {
            // One is enough: it wakes the next if it leaves anything.
            idleWriters.removeLast().resume()
        }
    }

    // MARK: - Postponed candidates

    /// Puts candidates back until they are due. Others of the same documents wait behind them.
    ///
    /// A log keeps its own: it brings them again.
    ///
    /// - Parameter candidates: Without their content: the documents are read again then.
    func postpone(_ candidates: [(due: Instant, candidate: Candidate)]) {
        let ofLog = candidates.filter(\.candidate.receipts.isOfLog)
        release(ofLog.map(\.candidate))
        for (due, candidate) in ofLog { candidate.receipts.tell(.waits(until: due)) }
        let own = ofLog.isEmpty ? candidates : candidates.filter { !$0.candidate.receipts.isOfLog }
        guard !isStopping else { return giveUp(own.map(\.candidate)) }
        postponed += own
        wakeTimer()
    }

    /// When the earliest postponed candidate is due; waits if there is none. Nil once the queue is aborted.
    func nextDue() async -> Instant? {
        while !isAborted {
            if let due = postponed.lazy.map(\.due).min() { return due }
            await withTaskCancellationHandler {
                await withCheckedContinuation { idleTimer = $0 }
            } onCancel: {
                Task { await abort() }
            }
        }
        return nil
    }

    /// Makes the candidates ready that are due by `now`.
    func resume(dueBy now: Instant) {
        let due = postponed.filter { $0.due <= now }
        postponed.removeAll { $0.due <= now }
        ready += due.map(\.candidate)
        wake()
    }

    /// Drops all postponed candidates, now and from now on: the run is to stop, and the next one sees them again.
    func stopPostponing() {
        isStopping = true
        let given = postponed.map(\.candidate)
        postponed = []
        giveUp(given)
    }

    /// Reports that this run does not finish these candidates.
    private func giveUp(_ candidates: [Candidate]) {
        release(candidates)
        for candidate in candidates { candidate.receipts.tell(.abandoned) }
    }

    private func wakeTimer() {
        idleTimer?.resume()
        idleTimer = nil
    }
}
