internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

// Documents as they are now, and those that must wait before they are read again.
extension BulkWriter {
    /// Conflicts in a row after which a document is left alone for a while: others write it all the time.
    private static let conflictsBeforeWaiting = 10
    private static let waitAfterManyConflicts: Duration = .seconds(1)

    /// Candidates with their documents as they are now. What came for these documents meanwhile is answered for with
    /// them.
    func readAgain(_ candidates: [Candidate], sender: inout BulkSender) async throws -> [Candidate] {
        guard !candidates.isEmpty else { return [] }
        var settled = Settlement()
        var open: [Candidate] = []
        // By the size that each had: what is read is held in memory whole.
        for group in try await absorbing(candidates).grouped(
            count: limits.documents, bytes: limits.bytes, size: \.byteCount)
        {
            let newestLetter = shared.lettered.newest
            let lookups = try await sender.reader.read(group.map(\.id)[...])
            for (var candidate, lookup) in zip(group, lookups) {
                candidate.newestLetter = newestLetter
                take(candidate, lookup, &open, &settled)
            }
        }
        try await finish(settled)
        return open
    }

    private func take(
        _ candidate: Candidate, _ lookup: DocumentLookup, _ open: inout [Candidate], _ settled: inout Settlement
    ) {
        var candidate = candidate
        switch lookup {
        case .found(let revision, let document):
            // What was refused as a conflict was so for another revision's sake.
            if revision != candidate.revision { candidate.refusals = 0 }
            candidate.take(revision, document.bytes)
            open.append(candidate)
        case .deleted(let revision) where candidate.isDeleted && revision == candidate.revision:
            candidate.take(revision, candidate.document, isDeleted: true)
            open.append(candidate)
        case .deleted, .missing:
            // Its tombstone comes in the feed, or is there already: nothing is left to write to.
            settled.end(candidate, isWrite: false)
        case .refused(let reason):
            settled.deadLetter(candidate, candidate.deadLetter(reason: "can't be read again: \(reason)"))
        }
    }

    private func absorbing(_ candidates: [Candidate]) async throws -> [Candidate] {
        var freed = CandidateQueue.Freed()
        var result: [Candidate] = []
        for var candidate in candidates {
            let more = await queue.absorbWaiting(into: &candidate)
            freed.bytes += more.bytes
            freed.documents += more.documents
            result.append(candidate)
        }
        await shared.budget.giveBack(bytes: freed.bytes, documents: freed.documents)
        return result
    }

    // MARK: - Waiting for a turn

    /// Candidates whose write met another revision, to be read and decided again; those that meet one each time later.
    func withoutContested(_ candidates: [Candidate]) async throws -> [Candidate] {
        var contested: [(ContinuousClock.Instant, Candidate)] = []
        var rest: [Candidate] = []
        for candidate in candidates {
            if candidate.attempts.isMultiple(of: Self.conflictsBeforeWaiting), candidate.attempts > 0 {
                contested.append((.now + Self.waitAfterManyConflicts, candidate))
            } else {
                rest.append(candidate)
            }
        }
        await postpone(contested)
        return rest
    }

    /// Lets candidates wait for their turn, without their documents: the latest content is decided then.
    func postpone(_ candidates: [(due: ContinuousClock.Instant, candidate: Candidate)]) async {
        guard !candidates.isEmpty else { return }
        var freed = 0
        let waiting = candidates.map { due, candidate in
            var candidate = candidate
            freed += candidate.giveUpBudget()
            if !candidate.isDeleted { candidate.letGoOfContent() }
            return (due: due, candidate: candidate)
        }
        await shared.budget.giveBack(bytes: freed, documents: 0)
        await queue.postpone(waiting)
    }
}
