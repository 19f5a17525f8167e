internal import GatewayClient

/// Passes candidates from readers to writers: one at a time per document, otherwise in order of arrival.
///
/// Changes of a document in progress are merged into one candidate with the newest content. There is no minimum and no
/// delay: an idle writer takes what there is, even a single candidate; while all writers are busy, candidates
/// accumulate. So an idle bot reacts at once and a busy one writes in bulk.
actor CandidateQueue {
    /// When a postponed candidate is due.
    typealias Instant = ContinuousClock.Instant

    private var ready: [Candidate] = []
    /// Documents in progress: the number of candidates (ready, postponed or taken) and holds.
    private var busy: [DocumentID: Int] = [:]
    /// For each busy document, the merged changes that arrived meanwhile.
    private var waiting: [DocumentID: Candidate] = [:]
    private var postponed: [(due: Instant, candidate: Candidate)] = []
    private var isFinished = false
    private var isAborted = false
    private var isStopping = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []
    private var idleTimer: CheckedContinuation<Void, Never>?

    /// Empty and open.
    init() {}

    /// The part of the memory budget that the queue has released.
    struct Freed: Sendable, Equatable {
        /// The sum of ``Candidate/cost``.
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
                freed.bytes += older.cost
                freed.documents += 1
                waiting[candidate.id] = merged
            } else {
                waiting[candidate.id] = candidate
            }
        }
        wake()
        return freed
    }

    /// Takes up to `limit` candidates, no two of one document; waits for the first one. Empty once the queue is
    /// finished and nothing is left, or when it is aborted. Cancelling a task that waits here aborts the queue for all.
    func take(limit: Int, byteLimit: Int) async -> [Candidate] {
        while ready.isEmpty, !isAborted {
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
                defer { bytes += candidate.byteCount }
                return bytes < byteLimit
            })
        // Linear in what remains, which the budget bounds.
        ready.removeFirst(taken.count)
        return taken
    }

    /// Merges what arrived for this candidate's document meanwhile. To be called before the document is read again:
    /// that content is at least as new.
    ///
    /// A tombstone is left: it is a change of its own, and reading the document does not bring it back.
    ///
    /// - Returns: What became free of the budget.
    func absorbWaiting(into candidate: inout Candidate) -> Freed {
        guard let newer = waiting[candidate.id], !newer.isDeleted else { return Freed() }
        waiting[candidate.id] = nil
        candidate.absorb(newer)
        return Freed(bytes: newer.cost, documents: 1)
    }

    /// These candidates are settled; the next one of each document becomes ready.
    func release(_ candidates: [Candidate]) { release(candidates.map(\.id)) }

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
        wake()
    }

    /// No more candidates are taken. A later run sees again what is not finished.
    func abort() {
        isAborted = true
        wake()
    }

    private func wake() {
        if isAborted { wakeTimer() }
        guard !ready.isEmpty || isAborted || (isFinished && busy.isEmpty) else { return }
        let woken = idleWriters
        idleWriters = []
        for continuation in woken { continuation.resume() }
    }

    // MARK: - Postponed candidates

    /// Puts candidates back until they are due. Others of the same documents wait behind them.
    ///
    /// - Parameter candidates: Without their content: the documents are read again then.
    func postpone(_ candidates: [(due: Instant, candidate: Candidate)]) {
        guard !isStopping else { return release(candidates.map(\.candidate)) }
        postponed += candidates
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
        release(given)
    }

    private func wakeTimer() {
        idleTimer?.resume()
        idleTimer = nil
    }
}
