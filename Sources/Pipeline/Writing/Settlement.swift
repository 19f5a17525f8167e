internal import DocumentFlow
internal import Encodings
internal import GatewayClient

/// Candidates that were settled together, and what to record about them.
struct Settlement {
    /// Their decision was completed: written, or nothing to do.
    private(set) var decided: [Candidate] = []
    /// Settled without a decision: an own revision, or beyond the limit of changes.
    var passedOver: [Candidate] = []
    /// Each with its dead letter.
    private(set) var deadLettered: [(candidate: Candidate, deadLetter: DeadLetter)] = []
    private(set) var ownRevisions: [(id: DocumentID, revision: RevisionID)] = []
    /// Contents that led to a write.
    private(set) var effects: [Ledger.Effect] = []
    /// Matching documents that were already as the rules want them.
    var unchanged = 0
    /// Writes that a dry run has shown, including ``shownDeletions``.
    var shown = 0
    var shownDeletions = 0
    private var deleted = 0
    private var conflicts = 0
    private var rejected = 0

    /// All settled candidates.
    var finished: [Candidate] { decided + passedOver + deadLettered.map(\.candidate) }

    /// Dead letters in the order in which they are saved.
    var deadLetters: [DeadLetter] { deadLettered.map(\.deadLetter) + decided.flatMap(\.deadLettersOfSkippedRules) }

    /// The numbers of dead letters of retried documents that are not dead-lettered again.
    var settledDeadLetters: [Int] {
        let replaced = Set(deadLettered.flatMap(\.deadLetter.replaced))
        return (decided.flatMap(\.deadLetters) + passedOver.flatMap(\.deadLetters)).filter { !replaced.contains($0) }
    }

    /// Dead letters of skipped rules that were counted before the write but are not saved.
    var countedButUnsavedDeadLetters: Int {
        decided.reduce(0) { $0 + max(0, $1.countedSkips - $1.skippedRules.count) }
            + (passedOver + deadLettered.map(\.candidate)).reduce(0) { $0 + $1.countedSkips }
    }

    var isEmpty: Bool { decided.isEmpty && passedOver.isEmpty && deadLettered.isEmpty }

    /// - Parameter isWrite: Whether the decision led to a write of any document.
    mutating func end(_ candidate: Candidate, isWrite: Bool) {
        decided.append(candidate)
        if isWrite, let content = candidate.content {
            effects.append(Ledger.Effect(id: candidate.id, content: content))
        }
    }

    mutating func deadLetter(_ candidate: Candidate, _ deadLetter: DeadLetter) {
        deadLettered.append((candidate, deadLetter))
    }

    /// Removes all but the first `count` dead-lettered candidates; the others are not settled.
    mutating func keepDeadLetters(_ count: Int) { deadLettered.removeLast(max(0, deadLettered.count - count)) }

    /// What to do with a candidate after the answer to its write.
    enum AfterWrite {
        case settled
        /// There is or may be another revision, or the gateway could not say: read the document and decide again.
        case decideAgain(Candidate)
    }

    /// Records the outcome of a write.
    ///
    /// A conflict is no reason to give up: a document that others write often is decided with its current content. But
    /// after `attemptLimit` conflicts without another revision it is dead-lettered. The same goes for as many writes on
    /// which the gateway failed, however many conflicts came between them.
    mutating func record(_ outcome: BulkOutcome, of candidate: Candidate, attemptLimit: Int) -> AfterWrite {
        var candidate = candidate
        candidate.note(outcome)
        switch outcome {
        case .written(let revision):
            candidate.revision = revision
            end(candidate, isWrite: true)
            ownRevisions.append((candidate.id, revision))
            if candidate.isDeletion { deleted += 1 }
        case .failed where candidate.failures < attemptLimit: return .decideAgain(candidate)
        case .failed, .rejected:
            rejected += 1
            deadLetter(candidate, candidate.deadLetter(reason: outcome.explanation))
        case .undecided: return .decideAgain(candidate)
        case .conflict, .unmentioned:
            if outcome == .conflict { conflicts += 1 }
            candidate.refusals += 1
            guard candidate.refusals >= attemptLimit else { return .decideAgain(candidate) }
            deadLetter(
                candidate,
                candidate.deadLetter(
                    reason:
                        "not accepted in \(candidate.attempts.counted("attempt")); the last one: \(outcome.explanation)"
                ))
        }
        return .settled
    }

    func count(in counters: inout RunCounters) {
        counters.written += ownRevisions.count
        counters.deleted += deleted
        counters.unchanged += unchanged
        counters.shown += shown
        counters.shownDeletions += shownDeletions
        counters.conflicts += conflicts
        counters.rejected += rejected
        counters.deadLetters -= countedButUnsavedDeadLetters
    }
}
