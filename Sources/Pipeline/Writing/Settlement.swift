internal import GatewayClient

/// Candidates that found their end together, and what is to be remembered of them.
struct Settlement {
    var finished: [Candidate] = []
    var ownRevisions: [(id: DocumentID, revision: RevisionID)] = []
    var deadLetters: [DeadLetter] = []
    var unchanged = 0
    /// Changes that a dry run has shown.
    var shown = 0
    private var conflicts = 0
    private var rejected = 0

    /// Letters of documents that were tried again and are not set aside again.
    var settledLetters: [Int] {
        let replaced = Set(deadLetters.flatMap(\.replaced))
        return finished.flatMap(\.letters).filter { !replaced.contains($0) }
    }

    mutating func setAside(_ candidate: Candidate, _ letter: DeadLetter) {
        finished.append(candidate)
        deadLetters.append(letter)
    }

    /// What became of a candidate whose write was answered.
    enum Verdict {
        case settled
        /// Another revision is there, or may be, or the gateway could not say: read the document, decide again.
        case decideAgain(Candidate)
    }

    /// Books the outcome of a write.
    mutating func take(_ candidate: Candidate, _ outcome: BulkOutcome, attemptLimit: Int) -> Verdict {
        var candidate = candidate
        candidate.attempts += 1
        switch outcome {
        case .written(let revision):
            finished.append(candidate)
            ownRevisions.append((candidate.id, revision))
        case .failed where candidate.attempts < attemptLimit: return .decideAgain(candidate)
        case .failed, .rejected:
            rejected += 1
            setAside(candidate, candidate.deadLetter(reason: outcome.words))
        case .undecided: return .decideAgain(candidate)
        case .conflict, .unmentioned:
            if outcome == .conflict { conflicts += 1 }
            guard candidate.attempts >= attemptLimit else { return .decideAgain(candidate) }
            setAside(
                candidate,
                candidate.deadLetter(reason: "not accepted \(candidate.attempts) times, last: \(outcome.words)"))
        }
        return .settled
    }

    func count(in counters: inout RunCounters) {
        counters.written += ownRevisions.count
        counters.unchanged += unchanged
        counters.shown += shown
        counters.conflicts += conflicts
        counters.rejected += rejected
        counters.deadLetters += deadLetters.count
    }
}
