internal import DocumentFlow
internal import GatewayClient

/// Candidates that found their end together, and what is to be remembered of them.
struct Settlement {
    /// Their decision came to its end: written, or nothing to do.
    private(set) var decided: [Candidate] = []
    /// Done with, without a decision: an own revision, or beyond what a run may change.
    var passedOver: [Candidate] = []
    /// Each with its letter.
    private(set) var deadLettered: [(candidate: Candidate, letter: DeadLetter)] = []
    private(set) var ownRevisions: [(id: DocumentID, revision: RevisionID)] = []
    /// Contents that led to a write.
    private(set) var effects: [Ledger.Effect] = []
    /// Matching documents that were already as the rules want them.
    var unchanged = 0
    /// Writes, and deletions among them, that a dry run has shown.
    var shown = 0
    var shownDeletions = 0
    private var deleted = 0
    private var conflicts = 0
    private var rejected = 0

    /// All that are done with.
    var finished: [Candidate] { decided + passedOver + deadLettered.map(\.candidate) }

    /// Letters in the order in which they are to be kept.
    var deadLetters: [DeadLetter] { deadLettered.map(\.letter) + decided.flatMap(\.lettersOfSkippedRules) }

    /// Letters, by number, of documents that were tried again and are not dead-lettered again.
    var settledLetters: [Int] {
        let replaced = Set(deadLettered.flatMap(\.letter.replaced))
        return (decided.flatMap(\.letters) + passedOver.flatMap(\.letters)).filter { !replaced.contains($0) }
    }

    /// Letters of skipped rules that were counted before the write, and are not kept after it.
    var lettersCountedInVain: Int {
        decided.reduce(0) { $0 + max(0, $1.countedSkips - $1.skippedRules.count) }
            + (passedOver + deadLettered.map(\.candidate)).reduce(0) { $0 + $1.countedSkips }
    }

    var isEmpty: Bool { decided.isEmpty && passedOver.isEmpty && deadLettered.isEmpty }

    /// - Parameter isWrite: Whether its content led to the write of any document.
    mutating func end(_ candidate: Candidate, isWrite: Bool) {
        decided.append(candidate)
        if isWrite, let content = candidate.content {
            effects.append(Ledger.Effect(id: candidate.id, content: content))
        }
    }

    mutating func deadLetter(_ candidate: Candidate, _ letter: DeadLetter) { deadLettered.append((candidate, letter)) }

    /// What is beyond the first `count` letters is not dead-lettered, and not done with.
    mutating func keepDeadLetters(_ count: Int) { deadLettered.removeLast(max(0, deadLettered.count - count)) }

    /// What became of a candidate whose write was answered.
    enum Verdict {
        case settled
        /// Another revision is there, or may be, or the gateway could not say: read the document, decide again.
        case decideAgain(Candidate)
    }

    /// Books the outcome of a write.
    ///
    /// A conflict is no reason to give up: a document that others write often is decided as it is then. One that is
    /// refused as a conflict although no other revision is there ends as a dead letter after `attemptLimit` times.
    mutating func take(_ candidate: Candidate, _ outcome: BulkOutcome, attemptLimit: Int) -> Verdict {
        var candidate = candidate
        candidate.attempts += 1
        switch outcome {
        case .written(let revision):
            candidate.revision = revision
            end(candidate, isWrite: true)
            ownRevisions.append((candidate.id, revision))
            if candidate.isDeletion { deleted += 1 }
        case .failed where candidate.attempts < attemptLimit: return .decideAgain(candidate)
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
                candidate.deadLetter(reason: "not accepted \(candidate.attempts) times, last: \(outcome.explanation)"))
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
        counters.deadLetters -= lettersCountedInVain
    }
}
