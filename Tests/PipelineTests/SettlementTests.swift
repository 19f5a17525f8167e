import DocumentFlow
import GatewayClient
import Testing

@testable import Pipeline

/// What becomes of a write, by its outcome: who is done, who is decided again, what is remembered and counted.
@Suite struct SettlementTests {
    private static let limit = 10

    private func candidate(
        _ id: DocumentID = "a", attempts: Int = 0, refusals: Int = 0, isDeletion: Bool = false, deadLetters: [Int] = []
    ) -> Candidate {
        var candidate = Candidate(id: id, revision: RevisionID("1-a"), document: Array("{}".utf8))
        candidate.attempts = attempts
        candidate.refusals = refusals
        candidate.isDeletion = isDeletion
        candidate.deadLetters = deadLetters
        candidate.rules = ["first", "last"]
        candidate.content = ContentFingerprint(bytes: Array(1...16))
        return candidate
    }

    private enum End { case decided, deadLettered, again }

    @Test(
        arguments: [
            (.written(RevisionID("2-b")), 0, 0, .decided), (.rejected(status: 403, reason: "no"), 0, 0, .deadLettered),
            // A write that fails may succeed later, but not for ever.
            (.failed(reason: "x"), 0, 0, .again), (.failed(reason: "x"), 8, 0, .again),
            (.failed(reason: "x"), 9, 0, .deadLettered),
            // A gateway that can't decide now is no reason to give a document up.
            (.undecided(reason: "busy"), 1000, 0, .again),
            // Neither are writes of others, but a gateway that refuses the revision that it has is.
            (.conflict, 1000, 0, .again), (.conflict, 1000, 8, .again), (.conflict, 1000, 9, .deadLettered),
            (.unmentioned, 0, 8, .again), (.unmentioned, 0, 9, .deadLettered),
        ] as [(BulkOutcome, Int, Int, End)])
    private func anOutcomeEndsACandidateOrItIsDecidedAgain(
        outcome: BulkOutcome, attempts: Int, refusals: Int, end: End
    ) {
        var settled = Settlement()
        let verdict = settled.record(
            outcome, of: candidate(attempts: attempts, refusals: refusals), attemptLimit: Self.limit)
        if case .decideAgain(let again) = verdict {
            #expect(end == .again)
            #expect(again.attempts == attempts + 1)
            #expect(settled.isEmpty)
        } else {
            #expect(settled.decided.count == (end == .decided ? 1 : 0))
            #expect(settled.deadLettered.count == (end == .deadLettered ? 1 : 0))
        }
    }

    /// Its revision is an own one, its content led to a write: both must be on disk before its tickets are finished.
    @Test func whatWasWrittenIsRemembered() {
        var settled = Settlement()
        _ = settled.record(.written(RevisionID("2-b")), of: candidate(), attemptLimit: Self.limit)
        #expect(settled.ownRevisions.map(\.revision) == [RevisionID("2-b")])
        #expect(settled.effects.map(\.id) == ["a"])
        #expect(settled.decided.first?.revision == RevisionID("2-b"))
    }

    /// What was refused did not happen: it must not count as an effect that somebody undid.
    @Test(arguments: [.rejected(status: 403, reason: "no"), .conflict, .undecided(reason: "")] as [BulkOutcome])
    func whatWasNotWrittenIsNotRemembered(outcome: BulkOutcome) {
        var settled = Settlement()
        _ = settled.record(outcome, of: candidate(), attemptLimit: Self.limit)
        #expect(settled.ownRevisions.isEmpty && settled.effects.isEmpty)
    }

    @Test func whatNeededNoWriteHasNoEffect() {
        var settled = Settlement()
        settled.end(candidate(), isWrite: false)
        #expect(settled.effects.isEmpty && settled.decided.count == 1)
    }

    /// The dead letter blames the last rule that fired; its predecessors go with it.
    @Test func aDeadLetterNamesItsRuleAndTheOnesItReplaces() throws {
        var settled = Settlement()
        _ = settled.record(
            .rejected(status: 403, reason: "no"), of: candidate(deadLetters: [7]), attemptLimit: Self.limit)
        let deadLetter = try #require(settled.deadLetters.first)
        #expect(deadLetter.rule == "last" && deadLetter.attempts == 1 && deadLetter.replaced == [7])
        #expect(deadLetter.reason.contains("403") && deadLetter.reason.contains("no"))
        #expect(settled.settledDeadLetters.isEmpty)
    }

    @Test func deadLettersOfSuccessfulDocumentsAreSettled() {
        var settled = Settlement()
        settled.end(candidate("a", deadLetters: [1, 2]), isWrite: false)
        settled.passedOver.append(candidate("b", deadLetters: [3]))
        settled.deadLetter(candidate("c", deadLetters: [4]), candidate("c", deadLetters: [4]).deadLetter(reason: "x"))
        #expect(settled.settledDeadLetters == [1, 2, 3])
    }

    /// A rule that failed alone has its dead letter, once the effects of the others are written.
    @Test func aSkippedRuleHasADeadLetterOfItsOwn() {
        var one = candidate()
        one.skippedRules = [.init(rule: "broken", reason: "no number")]
        var settled = Settlement()
        settled.end(one, isWrite: true)
        #expect(settled.deadLetters.map(\.rule) == ["broken"])
        #expect(settled.deadLetters.map(\.isOfRuleAlone) == [true])
        #expect(settled.deadLettered.isEmpty)
    }

    /// Beyond the limit of errors, documents are neither dead-lettered nor done.
    @Test func deadLettersBeyondTheLimitAreNotKept() {
        var settled = Settlement()
        for id in ["a", "b", "c"] as [DocumentID] {
            settled.deadLetter(candidate(id), candidate(id).deadLetter(reason: "x"))
        }
        settled.keepDeadLetters(2)
        #expect(settled.deadLetters.map(\.id) == ["a", "b"])
        #expect(settled.finished.map(\.id) == ["a", "b"])
    }

    @Test func everyEndIsCountedOnce() {
        var settled = Settlement()
        let outcomes: [(DocumentID, Bool, BulkOutcome)] = [
            ("a", false, .written(RevisionID("2-b"))), ("b", true, .written(RevisionID("2-b"))),
            ("c", false, .conflict), ("d", false, .rejected(status: 403, reason: "no")),
        ]
        for (id, isDeletion, outcome) in outcomes {
            _ = settled.record(outcome, of: candidate(id, isDeletion: isDeletion), attemptLimit: Self.limit)
        }
        settled.unchanged = 3
        var counters = RunCounters()
        settled.count(in: &counters)
        #expect(counters.written == 2 && counters.deleted == 1)
        #expect(counters.conflicts == 1 && counters.rejected == 1 && counters.unchanged == 3)
    }
}
