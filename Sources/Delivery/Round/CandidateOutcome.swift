internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// The result of a candidate.
enum CandidateOutcome: Sendable {
    /// The document itself was written.
    case wrote(RevisionID)
    /// Other documents were written, or an event was sent.
    case hadOtherEffects
    /// Its conflict was resolved. The remaining leaf is decided next.
    case resolved
    /// The document needed no change.
    case unchanged
    /// A dry run has shown the effects.
    case shown
    /// Nothing to do: an own revision, a document that only had to be counted, or one beyond the limit of changes.
    case skipped
    case deadLettered(DeadLetter)
}

/// Candidates that are over, and what must be recorded about them.
struct CandidateOutcomes: Sendable {
    struct Ended: Sendable {
        let candidate: Candidate
        let earlierTimes: [RuleTime]?
        let result: PlanResult
        let outcome: CandidateOutcome
    }

    /// Candidates whose decision was carried out or had no effects.
    private(set) var decided: [Ended] = []
    private(set) var skipped: [Ended] = []
    private(set) var deadLettered: [(ended: Ended, deadLetter: DeadLetter)] = []
    /// Writes that a dry run has shown, including ``previewedDeletions``.
    var shown = 0
    var previewedDeletions = 0
    private var conflicts = 0
    private var rejected = 0

    mutating func append(_ progress: CandidateProgress, _ outcome: CandidateOutcome) {
        var candidate = progress.candidate
        candidate.content.free()
        let ended = Ended(
            candidate: candidate, earlierTimes: progress.known.earlierTimes, result: progress.result, outcome: outcome)
        switch outcome {
        case .wrote, .hadOtherEffects, .resolved, .unchanged, .shown: decided.append(ended)
        case .skipped: skipped.append(ended)
        case .deadLettered(let deadLetter): deadLettered.append((ended, deadLetter))
        }
    }

    /// Counts the answer to a write.
    ///
    /// - Parameter command: What it led to.
    mutating func note(_ outcome: BulkOutcome, _ command: CandidateProgress.Command) {
        guard case .end(.deadLettered) = command else {
            if outcome == .conflict { conflicts += 1 }
            return
        }
        switch outcome {
        case .failed, .rejected: rejected += 1
        case .conflict: conflicts += 1
        default: return
        }
    }

    /// Whether there is nothing to record and nothing to count.
    var isEmpty: Bool {
        decided.isEmpty && skipped.isEmpty && deadLettered.isEmpty && conflicts == 0 && rejected == 0 && shown == 0
    }

    /// All candidates that are over.
    var candidates: [Candidate] {
        decided.map(\.candidate) + skipped.map(\.candidate) + deadLettered.map(\.ended.candidate)
    }

    /// Whether some must be recorded before anything else is written, because they are dead letters or had effects
    /// outside the gateway.
    var mustBeRecordedFirst: Bool {
        !deadLettered.isEmpty || decided.contains { if case .hadOtherEffects = $0.outcome { true } else { false } }
    }

    /// Removes all but the first `count` dead-lettered candidates, as if the run had not seen the others.
    mutating func keepDeadLetters(_ count: Int) { deadLettered.removeLast(max(0, deadLettered.count - count)) }
}

// MARK: - What is recorded

extension CandidateOutcomes {
    /// Dead letters in the order in which they are saved.
    var deadLetters: [DeadLetter] {
        deadLettered.map(\.deadLetter)
            + decided.flatMap { ended in ended.result.skippedRules.map { ended.candidate.deadLetter($0) } }
    }

    /// The numbers of dead letters of retried documents that are not dead-lettered again.
    var settledDeadLetters: [Int] {
        let replaced = Set(deadLettered.flatMap(\.deadLetter.replaced))
        return (decided + skipped).flatMap(\.candidate.reason.deadLetters).filter { !replaced.contains($0) }
    }

    /// The changed documents that were written themselves.
    var writtenDocuments: [DocumentID] { writes.map(\.ended.candidate.id) }

    var writes: [(ended: Ended, revision: RevisionID)] {
        decided.compactMap { ended in if case .wrote(let revision) = ended.outcome { (ended, revision) } else { nil } }
    }

    /// What the state must record about these writes, and about decisions that had other effects.
    var ownWrites: [OwnWrite] {
        decided.compactMap { ended in
            let (id, content) = (ended.candidate.id, ended.result.fingerprint)
            switch ended.outcome {
            case .wrote(let revision):
                // A revision that contains a receiver's answer is decided like any other.
                return OwnWrite(id: id, revision: ended.result.cause == nil ? revision : nil, content: content)
            case .hadOtherEffects, .resolved: return content.map { OwnWrite(id: id, revision: nil, content: $0) }
            case .unchanged, .shown, .skipped, .deadLettered: return nil
            }
        }
    }

    /// Revisions that contain receivers' answers, with the rules that led to them; then own revisions of documents that
    /// other rules had written.
    var caused: [Ledger.CausedRevision] {
        func caused(_ chain: (PlanResult) -> RuleChain?) -> [Ledger.CausedRevision] {
            writes.compactMap { ended, revision in
                chain(ended.result).map {
                    Ledger.CausedRevision(id: ended.candidate.id, revision: revision, chain: $0)
                }
            }
        }
        return caused(\.cause) + caused { $0.cause == nil ? $0.keptChain : nil }
    }

    /// Documents that the rules must decide again, because they contain receivers' answers or were in conflict.
    var changedAgain: [DocumentID] {
        decided.compactMap { ended in
            switch ended.outcome {
            case .wrote where ended.result.cause != nil: return ended.candidate.id
            case .resolved: return ended.candidate.id
            default: return nil
            }
        }
    }

    /// Dead letters of skipped rules that were counted before the write but are not saved.
    private var unsavedDeadLetters: Int {
        decided.reduce(0) { $0 + max(0, $1.candidate.history.countedSkips - $1.result.skippedRules.count) }
            + (skipped + deadLettered.map(\.ended)).reduce(0) { $0 + $1.candidate.history.countedSkips }
    }

    func count(in counters: inout RunCounters) {
        let writes = writes
        counters.written += writes.count
        counters.deleted += writes.count { $0.ended.result.isDeletion }
        counters.unchanged += decided.count { ended in
            if case .unchanged = ended.outcome { !ended.result.rules.isEmpty } else { false }
        }
        counters.preview.written += shown
        counters.preview.deleted += previewedDeletions
        counters.conflicts += conflicts
        counters.rejected += rejected
        counters.deadLetters -= unsavedDeadLetters
        for rule in decided.flatMap(\.result.learned) { counters.rules.learned[rule, default: 0] += 1 }
    }
}
