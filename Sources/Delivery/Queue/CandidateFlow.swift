internal import GatewayClient

/// The queue of a run, and the memory that its candidates use.
struct CandidateFlow: Sendable {
    let queue: CandidateQueue
    let budget: MemoryBudget

    /// Adds candidates. Never waits, because their documents are in memory already.
    func submit(_ candidates: [Candidate]) async {
        guard !candidates.isEmpty else { return }
        let booked = candidates.filter { !InjectedFault.unbookedLog.isActive || !$0.acknowledgements.isFromLog }
        await budget.take(bytes: booked.reduce(0) { $0 + $1.content.cost }, documents: booked.count)
        await returnRoom(queue.submit(candidates))
    }

    /// Merges later changes of a candidate's document into it.
    func mergeWaiting(into candidate: inout Candidate) async {
        await returnRoom(queue.mergeWaiting(into: &candidate))
    }

    private func returnRoom(_ freed: CandidateQueue.FreedMemory) async {
        guard freed != CandidateQueue.FreedMemory() else { return }
        await budget.returnRoom(bytes: freed.bytes, documents: freed.documents)
    }

    /// Ends these candidates and frees their memory. Waiting candidates of the same documents become ready.
    func release(_ candidates: [Candidate]) async {
        guard !candidates.isEmpty else { return }
        await budget.returnRoom(
            bytes: candidates.reduce(0) { $0 + $1.content.cost }, documents: candidates.count)
        await queue.release(candidates)
    }

    /// Postpones candidates without their documents: the latest content is decided later.
    func postpone(_ candidates: [(due: ContinuousClock.Instant, candidate: Candidate)]) async {
        var freed = 0
        let waiting = candidates.map { due, candidate in
            var candidate = candidate
            candidate.history.hasWaited = true
            freed += candidate.content.releaseBudget()
            if !candidate.content.isDeleted { candidate.content.drop() }
            return (due: due, candidate: candidate)
        }
        await budget.returnRoom(bytes: freed, documents: waiting.count { $0.candidate.acknowledgements.isFromLog })
        for (due, candidate) in waiting where !candidate.acknowledgements.isFromLog {
            candidate.acknowledgements.notifyPostponed(until: due)
        }
        await queue.postpone(waiting)
    }
}
