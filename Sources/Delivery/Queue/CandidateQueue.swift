internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Rules

/// Passes candidates from readers to writers: one at a time per document, otherwise in order of arrival.
///
/// Changes of a document in progress are merged into one candidate with the newest content. ``BatchingPolicy`` decides
/// when an idle writer takes candidates: an idle bot reacts at once, and a busy bot writes in bulk.
actor CandidateQueue {
    /// When a postponed candidate is due.
    typealias Instant = ContinuousClock.Instant

    private var ready: [Candidate] = []
    /// Documents in progress: the number of candidates (ready, postponed or taken) and holds.
    private var busy: [DocumentID: Int] = [:]
    /// For each busy document, the merged changes that arrived meanwhile.
    private var waiting: [DocumentID: Candidate] = [:]
    private var postponed = Postponed()
    private var newlyRead = NewlyReadDocuments()
    private var policy = BatchingPolicy()
    private var isFinished = false
    private var isAborted = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []
    private var waitingForIdle: [CheckedContinuation<Void, Never>] = []

    private let now: @Sendable () -> Instant

    /// Empty and open.
    init(now: @escaping @Sendable () -> Instant = { .now }) { self.now = now }

    private struct Postponed {
        var candidates: [(due: Instant, candidate: Candidate)] = []
        /// What waits for the first one.
        var timer: CheckedContinuation<Void, Never>?
        /// Whether the run stops: no more are postponed.
        var hasEnded = false
    }

    /// The part of the memory budget that the queue has freed.
    struct FreedMemory: Sendable, Equatable {
        /// The sum of ``Content/cost``.
        var bytes = 0
        /// Candidates that were merged into others.
        var documents = 0
    }

    /// Adds candidates, in order of arrival.
    ///
    /// - Returns: The memory that was freed because changes of one document were merged.
    @discardableResult
    func submit(_ candidates: [Candidate]) -> FreedMemory {
        var freed = FreedMemory()
        for var candidate in candidates {
            freed.bytes += dropIfOutdated(&candidate)
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

    /// Call this before the source sends a request, and after everything in its earlier answers was submitted.
    func noteRequest() { newlyRead.noteRequest() }

    /// Call this when documents have been read for which ``mergeWaiting(into:)`` was called.
    func noteRead(_ documents: [DocumentID]) { newlyRead.end(documents) }

    /// Drops the content of a document that may have been read in a newer form. It is read again.
    ///
    /// - Returns: The bytes of the memory budget that were freed.
    private func dropIfOutdated(_ candidate: inout Candidate) -> Int {
        guard newlyRead.mayContain(candidate.id), !candidate.content.isUnread, !candidate.content.isLost,
            !InjectedFault.outdatedWaiting.isActive
        else { return 0 }
        candidate.content.drop()
        return candidate.content.releaseBudget()
    }

    /// Sets whether more candidates will follow at once, so that it is worth gathering them. False at first.
    func gather(_ gathers: Bool) {
        policy.gathers = gathers
        wake()
    }

    /// Takes up to `limit` candidates, no two of one document; waits until ``BatchingPolicy`` allows it. The candidates
    /// that this writer took before must be settled. Returns none once the queue is finished and empty, or when it is
    /// aborted. Cancelling a task that waits here aborts the queue for all.
    func take(limit: Int, byteLimit: Int, writer: Int = 0) async -> [Candidate] {
        policy.noteSettled(writer: writer)
        while !mayTake, !isAborted {
            if isFinished, busy.isEmpty { return [] }
            await withTaskCancellationHandler {
                await withNamedContinuation("documents to process") { idleWriters.append($0) }
            } onCancel: {
                // Runs after this actor has stored the continuation, because the actor is not free before.
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
        // Linear in the number of remaining candidates, which the budget limits.
        ready.removeFirst(taken.count)
        policy.noteTaken(writer: writer, now: now())
        wake()
        return taken
    }

    private var mayTake: Bool {
        !ready.isEmpty
            && policy.mayTake(documents: ready.count, bytes: ready.reduce(0) { $0 + $1.content.byteCount }, now: now())
    }

    /// Merges changes that arrived for this candidate's document meanwhile. Call this before the document is read
    /// again: that content is at least as new. Call ``noteRead(_:)`` afterwards.
    ///
    /// A tombstone takes the place of the candidate: the earlier revision is gone, and a later one, which reading may
    /// return, must not be decided before the tombstone. A document that is no longer visible is a separate change.
    ///
    /// - Returns: The memory that was freed.
    func mergeWaiting(into candidate: inout Candidate) -> FreedMemory {
        newlyRead.begin(candidate.id)
        guard var newer = waiting[candidate.id], !newer.content.isLost else { return FreedMemory() }
        waiting[candidate.id] = nil
        if newer.content.isDeleted, !InjectedFault.mergedTombstone.isActive {
            let freed = newer.content.releaseBudget()
            candidate = candidate.merged(into: newer)
            return FreedMemory(bytes: freed, documents: 1)
        }
        // Otherwise a conflict that has arisen meanwhile would not be noticed.
        if !InjectedFault.forgottenLeaves.isActive {
            candidate.reason.leaves = newer.reason.leaves ?? candidate.reason.leaves
        }
        candidate.merge(newer)
        return FreedMemory(bytes: newer.content.cost, documents: 1)
    }

    /// Makes taken candidates ready again, behind the others.
    func putBack(_ candidates: [Candidate]) {
        ready += candidates
        wake()
    }

    /// The same, but in front of the others, because they were taken first.
    func putBackFirst(_ candidates: ArraySlice<Candidate>) {
        ready.insert(contentsOf: candidates, at: 0)
        wake()
    }

    /// Ends these settled candidates; the next one of each document becomes ready.
    func release(_ candidates: [Candidate]) { release(candidates.map(\.id)) }

    /// Those of the documents that have unsettled candidates.
    func busy(among documents: [DocumentID]) -> Set<DocumentID> {
        busy.isEmpty ? [] : Set(documents.filter { busy[$0] != nil })
    }

    /// Returns once everything that was submitted is settled, or the queue is aborted.
    ///
    /// - Returns: False if it was aborted.
    func waitUntilIdle() async -> Bool {
        while !busy.isEmpty, !isAborted {
            await withTaskCancellationHandler {
                await withNamedContinuation("the end of the work") { waitingForIdle.append($0) }
            } onCancel: {
                Task { await abort() }
            }
        }
        return !isAborted
    }

    /// Prevents candidates of these documents from being taken until they are released. The documents are being written
    /// because of other documents, and the ledger has not yet stored that.
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
            guard let next = waiting.removeValue(forKey: document), !InjectedFault.droppedChange.isActive else {
                continue
            }
            busy[document] = 1
            ready.append(next)
        }
        wake()
    }

    /// Call this when nothing more will be submitted. Queued candidates are still processed.
    func finish() {
        isFinished = true
        policy.gathers = false
        wake()
    }

    /// Ends the queue: no more candidates are taken. A later run processes the unfinished changes.
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
            // One is enough: it wakes the next one if it leaves anything.
            idleWriters.removeLast().resume()
        }
    }

    // MARK: - Postponed candidates

    /// Postpones candidates until they are due. Later candidates of the same documents wait behind them.
    ///
    /// Candidates from a log are not kept: the log delivers them again.
    ///
    /// - Parameter candidates: Without their content: the documents are read again when they are due.
    func postpone(_ candidates: [(due: Instant, candidate: Candidate)]) {
        let ofLog = candidates.filter(\.candidate.acknowledgements.isFromLog)
        release(ofLog.map(\.candidate))
        for (due, candidate) in ofLog { candidate.acknowledgements.notify(.waits(until: due)) }
        let own = ofLog.isEmpty ? candidates : candidates.filter { !$0.candidate.acknowledgements.isFromLog }
        guard !postponed.hasEnded else { return giveUp(own.map(\.candidate)) }
        postponed.candidates += own
        wakeTimer()
    }

    /// When the earliest postponed candidate is due; waits if there is none. Nil once the queue is aborted.
    func nextDue() async -> Instant? {
        while !isAborted {
            if let due = postponed.candidates.lazy.map(\.due).min() { return due }
            await withTaskCancellationHandler {
                await withNamedContinuation("a postponed document") { postponed.timer = $0 }
            } onCancel: {
                Task { await abort() }
            }
        }
        return nil
    }

    /// Makes candidates that are due by `now` ready.
    func resume(dueBy now: Instant) {
        let due = postponed.candidates.filter { $0.due <= now }
        postponed.candidates.removeAll { $0.due <= now }
        ready += due.map(\.candidate)
        wake()
    }

    /// Drops all postponed candidates from now on: the run stops, and the next run processes them.
    func stopPostponing() {
        postponed.hasEnded = true
        let given = postponed.candidates.map(\.candidate)
        postponed.candidates = []
        giveUp(given)
    }

    /// Reports that this run does not finish these candidates.
    private func giveUp(_ candidates: [Candidate]) {
        release(candidates)
        for candidate in candidates { candidate.acknowledgements.notify(.abandoned) }
    }

    private func wakeTimer() {
        postponed.timer?.resume()
        postponed.timer = nil
    }
}
