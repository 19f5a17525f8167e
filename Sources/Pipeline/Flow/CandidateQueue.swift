internal import GatewayClient

/// Candidates on their way from the feed to the writers: changes of one document one at a time, in the order of the
/// feed; all others as they come.
///
/// There is no timer and no minimum: a writer with nothing to do takes what is there, be it one candidate; while all
/// writers are busy, candidates gather. So an idle bot answers at once and a busy one writes in bulk.
package actor CandidateQueue {
    private var ready: [Candidate] = []
    /// Documents with a candidate ready or taken, and the candidates that wait behind it.
    private var busy: [DocumentID: [Candidate]] = [:]
    private var isFinished = false
    private var isAborted = false
    private var idleWriters: [CheckedContinuation<Void, Never>] = []

    package init() {}

    package func submit(_ candidates: [Candidate]) {
        for candidate in candidates {
            if busy[candidate.id] == nil {
                busy[candidate.id] = []
                ready.append(candidate)
            } else {
                busy[candidate.id]?.append(candidate)
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
    package func release(_ candidates: [Candidate]) {
        for candidate in candidates {
            guard var waiting = busy[candidate.id] else { continue }
            if waiting.isEmpty {
                busy[candidate.id] = nil
            } else {
                ready.append(waiting.removeFirst())
                busy[candidate.id] = waiting
            }
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
