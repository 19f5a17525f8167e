internal import GatewayClient

/// Candidates on their way from where they were read to the writers: those of one document one at a time, all others as
/// they come.
///
/// Changes of a document that is being worked on are merged into one candidate, the newest content counts. There is no
/// minimum and no delay: a writer with nothing to do takes what is there, be it one candidate; while all writers are
/// busy, candidates gather. So an idle bot answers at once and a busy one writes in bulk.
package actor CandidateQueue {
    package typealias Instant = ContinuousClock.Instant

    private var ready: [Candidate] = []
    /// Documents that somebody works on: by how many candidates, ready, postponed or taken, and holds.
    private var busy: [DocumentID: Int] = [:]
    /// For each busy document, what came meanwhile.
    private var waiting: [DocumentID: Candidate] = [:]
    private var postponed: [(due: Instant, candidate: Candidate)] = []
    private var isFinished = false
    private var isAborted = false
    private var isStopping = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []
    private var idleTimer: CheckedContinuation<Void, Never>?

    package init() {}

    /// What the queue holds no longer, of the memory budget.
    package struct Freed: Sendable, Equatable {
        package var bytes = 0
        package var documents = 0
    }

    /// Takes candidates in, in the order in which they came.
    ///
    /// - Returns: What of the budget became free because changes of one document were merged.
    @discardableResult
    package func submit(_ candidates: [Candidate]) -> Freed {
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

    /// Up to `limit` candidates, no two of one document; empty once the queue is finished and nothing is left, or when
    /// it was aborted. Cancelling a task that waits here aborts the queue for all.
    package func take(limit: Int, byteLimit: Int) async -> [Candidate] {
        while ready.isEmpty, !isAborted {
            if isFinished, busy.isEmpty { return [] }
            await withTaskCancellationHandler {
                await withCheckedContinuation { idleWriters.append($0) }
            } onCancel: {
                // Runs after this actor has taken the continuation in: until then it is not free.
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
        // The budget bounds what is behind them.
        ready.removeFirst(taken.count)
        return taken
    }

    /// Takes over what came for this candidate's document meanwhile. To be called before the document is read again:
    /// what is read then is at least as new.
    ///
    /// A tombstone stays: it is a change of its own, and reading does not bring it back.
    ///
    /// - Returns: What of the budget became free.
    func absorbWaiting(into candidate: inout Candidate) -> Freed {
        guard let newer = waiting[candidate.id], !newer.isDeleted else { return Freed() }
        waiting[candidate.id] = nil
        candidate.absorb(newer)
        return Freed(bytes: newer.cost, documents: 1)
    }

    /// These candidates are done with; the next of each document may go.
    package func release(_ candidates: [Candidate]) { release(candidates.map(\.id)) }

    /// Keeps candidates of these documents from being taken until they are released: they are being written
    /// for other documents' sake, and what is to be remembered of that is not on disk yet.
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

    /// Nothing more will be submitted. What is there is still worked off.
    package func finish() {
        isFinished = true
        wake()
    }

    /// Nothing more will be handed out. What is not finished yet will be seen again by a later run.
    package func abort() {
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

    // MARK: - Documents whose turn comes later

    /// Puts candidates back until their time has come. Others of the same documents wait behind them.
    ///
    /// - Parameter candidates: Without their content: it is read anew then.
    func postpone(_ candidates: [(due: Instant, candidate: Candidate)]) {
        guard !isStopping else { return release(candidates.map(\.candidate)) }
        postponed += candidates
        wakeTimer()
    }

    /// Returns when the earliest of the postponed candidates is due; nil once the queue is aborted.
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

    /// Makes candidates ready whose time has come.
    func resume(dueBy now: Instant) {
        let due = postponed.filter { $0.due <= now }
        postponed.removeAll { $0.due <= now }
        ready += due.map(\.candidate)
        wake()
    }

    /// Lets go of all that is postponed, now and later: the run is to stop, and the next one sees them again.
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
