internal import BotState
internal import Delivery
internal import Fleet
internal import GatewayClient
internal import Locking

/// Decides the changes of a fleet's partitions with the pipeline of this process.
///
/// The pipeline reads the current revision of each document, so several changes of one document are decided once.
/// A change that can't be decided becomes a dead letter in the state. A change that must wait is parked in the log, so
/// it does not hold up others. Every change is answered as done or parked, unless this process ends first.
struct ChangeProcessor: Processor {
    let delivery: Delivery

    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async {
        guard tenure.isValid else {
            for change in changes { answer(change, .postponed) }
            return
        }
        let open = Monitor(Set(changes.map(\.n)))
        let candidates = changes.map { change in
            counted(change).ofLog { end in
                guard open.with({ $0.contains(change.n) }) else { return }
                // Removed only after the answer: once none is open, all were answered here.
                answer(change, Self.verdict(end))
                _ = open.with { $0.remove(change.n) }
            }
        }
        do {
            let ofFeed = changes.filter { $0.entry.kind.isFromFeed && $0.entry.kind != .lost }
            try await delivery.markChangedTotals(
                among: ofFeed.map { (DocumentID($0.id.text), RevisionID($0.entry.revision)) })
            try await delivery.take(candidates)
            await open.wait(until: \.isEmpty)
        } catch {
            // Candidates that were taken may still finish; their changes are decided once more then.
        }
        let left = open.with { open in
            defer { open = [] }
            return open
        }
        for change in changes where left.contains(change.n) { answer(change, .postponed) }
    }

    private static func verdict(_ end: Acknowledgements.Outcome) -> Verdict {
        switch end {
        case .finished: .done
        case .abandoned: .postponed
        case .waits(let due):
            .parked(max(ContinuousClock.now.duration(to: due), .zero), "waiting for its next attempt")
        }
    }

    /// Own revisions are not decided, but they may have to be counted.
    private func counted(_ change: LoggedChange) -> Candidate {
        var candidate = candidate(change)
        candidate.reason.isFromCount = change.mustBeCounted
        candidate.history.hasWaited = change.parks > 0
        return candidate
    }

    private func candidate(_ change: LoggedChange) -> Candidate {
        let entry = change.entry
        let id = DocumentID(change.id.text)
        switch entry.kind {
        case .changed:
            var leaves: [RevisionID]?
            if delivery.resolvesConflicts { leaves = ([entry.revision] + entry.otherLeaves).map { RevisionID($0) } }
            return Candidate(
                id, Content(RevisionID(entry.revision), expectedBytes: Content.usualBytes),
                reason: Reason(sequence: SequenceID(entry.sequence), leaves: leaves))
        case .deleted:
            return Candidate(
                ofDeletion: id, RevisionID(entry.revision), sequence: SequenceID(entry.sequence),
                readsMembers: delivery.decidesDeletions)
        case .lost:
            return Candidate(ofLost: id, RevisionID(entry.revision), sequence: SequenceID(entry.sequence))
        case .due: return Candidate(ofTimer: id)
        case .uncounted:
            return Candidate(unread: id, expectedBytes: Content.usualBytes, reason: Reason(countsOnly: true))
        }
    }
}
