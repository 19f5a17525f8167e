import DocumentFlow
import GatewayClient
import Testing

@testable import BotState
@testable import Delivery

/// What is recorded and counted when candidates end.
@Suite struct CandidateOutcomesTests {
    private func progress(
        _ id: DocumentID = "a", deadLetters: [Int] = [], _ edit: (inout PlanResult) -> Void = { _ in }
    ) -> CandidateProgress {
        var result = PlanResult()
        result.rules = ["first", "last"]
        result.fingerprint = ContentFingerprint(bytes: Array(1...16))
        edit(&result)
        return CandidateProgress(
            Candidate(id, Content(RevisionID("1-a"), Array("{}".utf8)), reason: Reason(deadLetters: deadLetters)),
            result: result)
    }

    private func outcomes(_ progress: CandidateProgress, _ outcome: CandidateOutcome) -> CandidateOutcomes {
        var outcomes = CandidateOutcomes()
        outcomes.append(progress, outcome)
        return outcomes
    }

    /// Its own revision and the content that led to the write must both be on disk before its tickets are finished.
    @Test func ownWriteIsRecorded() {
        let outcomes = outcomes(progress(), .wrote(RevisionID("2-b")))
        #expect(outcomes.ownWrites.map(\.revision) == [RevisionID("2-b")])
        #expect(outcomes.ownWrites.map(\.id) == ["a"] && outcomes.writtenDocuments == ["a"])
    }

    /// If a receiver's response was merged into it, the new revision is a change that rules must decide.
    @Test func revisionWithAMergedResponseIsDecidedAgain() {
        let outcomes = outcomes(
            progress {
                $0.cause = RuleChain()
                $0.keptChain = RuleChain()
            }, .wrote(RevisionID("2-b")))
        #expect(outcomes.ownWrites.map(\.revision) == [nil])
        #expect(outcomes.caused.map(\.revision) == [RevisionID("2-b")] && outcomes.changedAgain == ["a"])
    }

    @Test(arguments: [
        (CandidateOutcome.hadOtherEffects, true), (.resolved, true), (.unchanged, false), (.shown, false),
    ])
    func onlyEffectsAreRecorded(outcome: CandidateOutcome, isRemembered: Bool) {
        let outcomes = outcomes(progress(), outcome)
        #expect(outcomes.ownWrites.map(\.revision) == (isRemembered ? [nil] : []))
        #expect(outcomes.decided.count == 1 && outcomes.writtenDocuments.isEmpty)
    }

    /// A new dead letter replaces the document's earlier ones. Dead letters of finished documents are settled.
    @Test func deadLettersOfFinishedDocumentsAreDropped() {
        var outcomes = CandidateOutcomes()
        outcomes.append(progress("a", deadLetters: [1, 2]), .unchanged)
        outcomes.append(progress("b", deadLetters: [3]), .skipped)
        let failed = progress("c", deadLetters: [4])
        outcomes.append(failed, .deadLettered(failed.candidate.deadLetter(reason: "x")))
        #expect(outcomes.settledDeadLetters == [1, 2, 3])
        #expect(outcomes.deadLetters.map(\.replaced) == [[4]])
    }

    /// A single failed rule gets its own dead letter once the effects of the other rules are written.
    @Test func skippedRuleHasItsOwnDeadLetter() {
        let outcomes = outcomes(
            progress(deadLetters: [4]) { $0.skippedRules = [SkippedRule(rule: "broken", reason: "no number")] },
            .hadOtherEffects)
        #expect(outcomes.deadLetters.map(\.rule) == ["broken"] && outcomes.deadLetters.map(\.replaced) == [[]])
        #expect(outcomes.deadLetters.map(\.concernsOnlyRule) == [true])
        #expect(outcomes.deadLettered.isEmpty)
    }

    /// Beyond the error limit, documents are neither dead-lettered nor finished.
    @Test func deadLettersBeyondTheLimitAreDropped() {
        var outcomes = CandidateOutcomes()
        for id in ["a", "b", "c"] as [DocumentID] {
            let progress = progress(id)
            outcomes.append(progress, .deadLettered(progress.candidate.deadLetter(reason: "x")))
        }
        outcomes.keepDeadLetters(2)
        #expect(outcomes.deadLetters.map(\.id) == ["a", "b"])
        #expect(outcomes.candidates.map(\.id) == ["a", "b"])
    }

    /// Dead letters and sent events are recorded before the next request is sent.
    @Test(arguments: [
        (CandidateOutcome.wrote(RevisionID("2-b")), false), (.unchanged, false), (.skipped, false),
        (.hadOtherEffects, true),
        (.deadLettered(DeadLetter(sequence: nil, id: "a", revision: nil, reason: "x")), true),
    ])
    func effectsAndDeadLettersAreRecordedFirst(outcome: CandidateOutcome, isFirst: Bool) {
        #expect(outcomes(progress(), outcome).mustBeRecordedFirst == isFirst)
    }

    @Test func eachEndIsCountedOnce() {
        var outcomes = CandidateOutcomes()
        outcomes.append(progress("a"), .wrote(RevisionID("2-b")))
        outcomes.append(progress("b") { $0.isDeletion = true }, .wrote(RevisionID("2-b")))
        outcomes.append(progress("c"), .unchanged)
        outcomes.append(progress("d") { $0.rules = [] }, .unchanged)
        let bulkOutcomes: [BulkOutcome] = [.conflict, .rejected(status: 403, reason: "no"), .undecided(reason: "busy")]
        for outcome in bulkOutcomes {
            var progress = progress("e")
            outcomes.note(outcome, progress.take(outcome, attemptLimit: 10, now: .now))
        }
        var counters = RunCounters()
        outcomes.count(in: &counters)
        #expect(counters.written == 2 && counters.deleted == 1 && counters.unchanged == 1)
        #expect(counters.conflicts == 1 && counters.rejected == 1)
    }
}
