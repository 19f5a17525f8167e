internal import GatewayClient
internal import Locking

/// Enqueues documents in the queue of this process.
final class QueueEnqueuer: CandidateEnqueuer {
    private struct State {
        /// What was enqueued and is not settled, and how often.
        var inProgress: [DocumentID: Int] = [:]
        /// Those of them that were postponed: they do not occupy a place.
        var waiting: Set<DocumentID> = []
    }

    private let flow: CandidateFlow
    private let woken: Signal
    private let documentsAtOnce: Int?
    private let state = Monitor(State())

    /// - Parameters:
    ///   - woken: Raised when documents are settled or postponed, so that there is room for others.
    ///   - documentsAtOnce: The maximum number of documents under way; none is enqueued twice. Nil: any number.
    init(_ flow: CandidateFlow, woken: Signal, documentsAtOnce: Int?) {
        (self.flow, self.woken, self.documentsAtOnce) = (flow, woken, documentsAtOnce)
    }

    let isDurable = false

    func room() async throws -> Bool {
        try await flow.budget.room()
        return freeDocuments > 0
    }

    private var freeDocuments: Int {
        guard let documentsAtOnce else { return .max }
        return state.quietly { documentsAtOnce - ($0.inProgress.count - $0.waiting.count) }
    }

    func enqueue(_ candidates: [Candidate]) async throws -> Int {
        var enqueued = candidates
        if documentsAtOnce != nil {
            let inProgress = state.quietly(\.inProgress)
            enqueued = Array(candidates.filter { inProgress[$0.id] == nil }.prefix(max(freeDocuments, 0)))
        }
        state.quietly { state in for candidate in enqueued { state.inProgress[candidate.id, default: 0] += 1 } }
        await flow.submit(
            enqueued.map { candidate in
                candidate.observed { [weak self, id = candidate.id] in self?.note($0, id) }
            })
        try await flow.budget.room()
        return enqueued.count
    }

    func waitUntilSettled() async throws -> Bool {
        await state.wait(until: \.inProgress.isEmpty)
        try Task.checkCancellation()
        return true
    }

    private func note(_ over: Acknowledgements.Outcome, _ id: DocumentID) {
        state.with { state in
            if case .waits = over {
                state.waiting.insert(id)
                return
            }
            state.waiting.remove(id)
            guard let count = state.inProgress[id] else { return }
            state.inProgress[id] = count > 1 ? count - 1 : nil
        }
        if documentsAtOnce != nil { woken.raise() }
    }
}
