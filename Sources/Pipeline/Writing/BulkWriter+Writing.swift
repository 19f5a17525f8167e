internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

// The write of the changed documents, and what is left for later.
extension BulkWriter {
    /// - Returns: The candidates to decide again, after their documents have been read again.
    func write(_ writes: [Planner.Write], _ context: inout WriterContext) async throws -> [Candidate] {
        var again: [Candidate] = []
        for request in limits.requests(writes.map { $0.document }) {
            try await context.sender.send(request) { answered, outcomes in
                CrashPoint.written.pass()
                var settled = Settlement()
                var written: [(Planner.Write, RevisionID)] = []
                for (index, outcome) in zip(answered, outcomes) {
                    switch settled.record(outcome, of: writes[index].candidate, attemptLimit: limits.attempts) {
                    case .settled:
                        if case .written(let revision) = outcome { written.append((writes[index], revision)) }
                    case .decideAgain(var candidate):
                        // A tombstone that the gateway left undecided is written again unchanged.
                        if outcome == .conflict || !candidate.isDeleted { candidate.dropContent() }
                        again.append(candidate)
                    }
                }
                noteWritten(written)
                await shared.busy.noteWrites(settled.ownRevisions.map { DocumentPlace(keyspace: nil, id: $0.id) })
                try await finish(settled)
            }
        }
        return try await postponingContested(again)
    }

    /// Tells the observer and the log.
    private func noteWritten(_ written: [(write: Planner.Write, revision: RevisionID)]) {
        if let observer = settings.observer, !written.isEmpty {
            observer.note(
                .wrote(
                    written.suffix(observer.wantedWrites).map { write, revision in
                        shown(write, revision, withContent: observer.wantsDocuments)
                    }))
        }
        guard logger.logLevel <= .debug else { return }
        for (write, revision) in written {
            let candidate = write.candidate
            logger.debug(
                candidate.isDeletion ? "deleted a document" : "wrote a document",
                metadata: [
                    LogKey.id: "\(candidate.id)", LogKey.revision: "\(revision)",
                    LogKey.rules: .array(candidate.rules.map { "\($0)" }),
                ])
        }
    }

    private func shown(_ write: Planner.Write, _ revision: RevisionID, withContent: Bool) -> WrittenDocument {
        let candidate = write.candidate
        var written = WrittenDocument(
            id: candidate.id, revision: revision, rules: candidate.rules, isDeletion: candidate.isDeletion)
        if withContent {
            written.before = write.before
            written.after = candidate.isDeletion ? nil : try? JSONText(Array(write.document.segments.joined()))
        }
        return written
    }

    // MARK: - Postponing

    /// Returns candidates to be read and decided again after a conflict. Those with too many conflicts in a row are
    /// postponed.
    private func postponingContested(_ candidates: [Candidate]) async throws -> [Candidate] {
        var contested: [(ContinuousClock.Instant, Candidate)] = []
        var rest: [Candidate] = []
        for candidate in candidates {
            if candidate.isContested {
                contested.append((.now + AttemptLimits.contestedWait, candidate))
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
