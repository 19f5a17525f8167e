internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

// Reading documents again, and postponing those that must wait.
extension BulkWriter {
    /// Consecutive conflicts after which a document is left alone for a while: others write it all the time.
    private static let conflictsBeforeWaiting = 10
    private static let waitAfterManyConflicts: Duration = .seconds(1)

    /// Reads the candidates' documents as they are now. Changes that arrived for them meanwhile are merged in.
    func readAgain(_ candidates: [Candidate], sender: inout BulkSender) async throws -> [Candidate] {
        guard !candidates.isEmpty else { return [] }
        var settled = Settlement()
        var open: [Candidate] = []
        // Grouped by the size that each had: what is read is held in memory.
        for group in try await absorbing(candidates).grouped(
            count: limits.documents, bytes: limits.bytes, size: \.byteCount)
        {
            let newestDeadLetter = shared.deadLettered.newest
            let lookups = try await sender.reader.read(group.map(\.id)[...])
            for (var candidate, lookup) in zip(group, lookups) {
                candidate.newestDeadLetter = newestDeadLetter
                sort(candidate, by: lookup, &open, &settled)
            }
        }
        try await finish(settled)
        return open
    }

    /// Sets the content of a candidate that goes on, and settles any other.
    private func sort(
        _ candidate: Candidate, by lookup: DocumentLookup, _ open: inout [Candidate], _ settled: inout Settlement
    ) {
        var candidate = candidate
        switch lookup {
        case .found(let revision, let document):
            // Earlier conflicts are explained by the new revision.
            if revision != candidate.revision { candidate.refusals = 0 }
            candidate.setContent(revision, document.bytes)
            open.append(candidate)
        case .deleted(let revision) where candidate.isDeleted && revision == candidate.revision:
            candidate.setContent(revision, candidate.document, isDeleted: true)
            open.append(candidate)
        case .deleted, .missing:
            // The feed brings its tombstone, or has brought it: there is nothing left to write to.
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

    // MARK: - Postponing

    /// Returns candidates to be read and decided again after a conflict. Those with too many conflicts are postponed.
    func postponingContested(_ candidates: [Candidate]) async throws -> [Candidate] {
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

    /// Postpones candidates without their documents: the latest content is decided later.
    func postpone(_ candidates: [(due: ContinuousClock.Instant, candidate: Candidate)]) async {
        guard !candidates.isEmpty else { return }
        var freed = 0
        let waiting = candidates.map { due, candidate in
            var candidate = candidate
            freed += candidate.releaseBudget()
            if !candidate.isDeleted { candidate.dropContent() }
            return (due: due, candidate: candidate)
        }
        await shared.budget.giveBack(bytes: freed, documents: 0)
        await queue.postpone(waiting)
    }
}
