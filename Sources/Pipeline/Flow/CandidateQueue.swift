internal import GatewayClient

/// Candidates on their way from where they were read to the writers: those of one document one at a time, in the order
/// in which they came; all others as they come.
///
/// There is no timer and no minimum: a writer with nothing to do takes what is there, be it one candidate; while all
/// writers are busy, candidates gather. So an idle bot answers at once and a busy one writes in bulk.
package actor CandidateQueue {
    private var ready: [Candidate] = []
    /// Documents that somebody works on: by how many candidates, ready or taken, and holds.
    private var busy: [DocumentID: Int] = [:]
    /// Candidates of busy documents.
    private var waiting: [DocumentID: [Candidate]] = [:]
    private var isFinished = false
    private var isAborted = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []

    package init() {}

    package func submit(_ candidates: [Candidate]) {
        for candidate in candidates {
            if busy[candidate.id] == nil {
                busy[candidate.id] = 1
                ready.append(candidate)
            } else {
                waiting[candidate.id, default: []].append(candidate)
            }
        }
        wake()
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
            guard var candidates = waiting.removeValue(forKey: document) else { continue }
            busy[document] = 1
            ready.append(candidates.removeFirst())
            if !candidates.isEmpty { waiting[document] = candidates }
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
        guard !ready.isEmpty || isAborted || (isFinished && busy.isEmpty) else { return }
        let woken = idleWriters
        idleWriters = []
        for continuation in woken { continuation.resume() }
    }
}
