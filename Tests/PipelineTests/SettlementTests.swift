import DocumentFlow
import GatewayClient
import Testing

@testable import Pipeline

/// What becomes of a write, by its outcome: who is done, who is decided again, what is remembered and counted.
@Suite struct SettlementTests {
    private static let limit = 10

    private func candidate(
        _ id: DocumentID = "a", isDeletion: Bool = false, deadLetters: [Int] = []
    ) -> Candidate {
        var candidate = Candidate(id: id, revision: RevisionID("1-a"), document: Array("{}".utf8))
        candidate.isDeletion = isDeletion
        candidate.deadLetters = deadLetters
        candidate.rules = ["first", "last"]
        candidate.content = ContentFingerprint(bytes: Array(1...16))
        return candidate
    }

    private enum End { case decided, deadLettered, again }

    private struct Case: Sendable {
        let outcome: BulkOutcome
        var attempts = 0
        var failures = 0
        var unexplainedConflicts = 0
        let end: End
    }

    @Test(arguments: [
        Case(outcome: .written(RevisionID("2-b")), end: .decided),
        Case(outcome: .rejected(status: 403, reason: "no"), end: .deadLettered),
        // A write that fails may succeed later, but not for ever. Conflicts before it are no failures.
        Case(outcome: .failed(reason: "x"), end: .again),
        Case(outcome: .failed(reason: "x"), failures: 8, end: .again),
        Case(outcome: .failed(reason: "x"), failures: 9, end: .deadLettered),
        Case(outcome: .failed(reason: "x"), attempts: 1000, failures: 8, end: .again),
        // A gateway that can't decide now is no reason to give a document up.
        Case(outcome: .undecided(reason: "busy"), attempts: 1000, failures: 9, end: .again),
        // Neither are writes of others, but a gateway that refuses the revision that it has is.
        Case(outcome: .conflict, attempts: 1000, end: .again),
        Case(outcome: .conflict, attempts: 1000, unexplainedConflicts: 8, end: .again),
        Case(outcome: .conflict, attempts: 1000, unexplainedConflicts: 9, end: .deadLettered),
        Case(outcome: .unmentioned, unexplainedConflicts: 8, end: .again),
        Case(outcome: .unmentioned, unexplainedConflicts: 9, end: .deadLettered),
    ])
    private func anOutcomeEndsACandidateOrItIsDecidedAgain(test: Case) {
        var candidate = candidate()
        (candidate.attempts, candidate.failures, candidate.unexplainedConflicts) = (
            test.attempts, test.failures, test.unexplainedConflicts
        )
        var settled = Settlement()
        let next = settled.record(test.outcome, of: candidate, attemptLimit: Self.limit)
        if case .decideAgain(let again) = next {
            #expect(test.end == .again)
            #expect(again.attempts == test.attempts + 1)
            #expect(settled.isEmpty)
        } else {
            #expect(settled.decided.count == (test.end == .decided ? 1 : 0))
            #expect(settled.deadLettered.count == (test.end == .deadLettered ? 1 : 0))
        }
    }

    /// Failures are counted, not what came between them: a contested document gets as many as any other. The conflicts
    /// here are with other revisions.
    @Test(
        arguments: [
            ([(.conflict, 9), (.failed(reason: "x"), 1)], nil), ([(.conflict, 9), (.failed(reason: "x"), 9)], nil),
            ([(.conflict, 9), (.failed(reason: "x"), 10)], 19),
            ([(.undecided(reason: "busy"), 50), (.failed(reason: "x"), 9)], nil),
            ([(.failed(reason: "x"), 5), (.conflict, 3), (.failed(reason: "x"), 4)], nil),
            ([(.failed(reason: "x"), 5), (.conflict, 3), (.failed(reason: "x"), 5)], 13),
        ] as [([(BulkOutcome, Int)], Int?)])
    func onlyFailuresCountAsFailures(outcomes: [(BulkOutcome, Int)], attemptsOfDeadLetter: Int?) {
        var candidate = candidate()
        var settled = Settlement()
        for outcome in outcomes.flatMap({ Array(repeating: $0.0, count: $0.1) }) {
            #expect(settled.isEmpty)
            guard case .decideAgain(let again) = settled.record(outcome, of: candidate, attemptLimit: Self.limit)
            else { continue }
            candidate = again
            candidate.unexplainedConflicts = 0
        }
        #expect(settled.deadLetters.map(\.attempts) == (attemptsOfDeadLetter.map { [$0] } ?? []))
    }

    /// Others write a document all the time if its writes conflict ten times in a row, not if there are ten writes.
    @Test(
        arguments: [
            ([(.conflict, 9)], false), ([(.conflict, 10)], true), ([(.conflict, 11)], false), ([(.conflict, 20)], true),
            ([(.undecided(reason: "busy"), 10)], false), ([(.failed(reason: "x"), 9), (.conflict, 1)], false),
            ([(.conflict, 9), (.undecided(reason: "busy"), 1)], false),
            ([(.conflict, 9), (.undecided(reason: "busy"), 1), (.conflict, 9)], false),
            ([(.conflict, 9), (.unmentioned, 1), (.conflict, 10)], true),
        ] as [([(BulkOutcome, Int)], Bool)])
    func conflictsInARowMakeADocumentContested(outcomes: [(BulkOutcome, Int)], isContested: Bool) {
        var candidate = candidate()
        for outcome in outcomes.flatMap({ Array(repeating: $0.0, count: $0.1) }) { candidate.note(outcome) }
        #expect(candidate.isContested == isContested)
    }

    /// Its revision is an own one, its content led to a write: both must be on disk before its tickets are finished.
    @Test func whatWasWrittenIsRemembered() {
        var settled = Settlement()
        _ = settled.record(.written(RevisionID("2-b")), of: candidate(), attemptLimit: Self.limit)
        #expect(settled.ownWrites.map(\.revision) == [RevisionID("2-b")])
        #expect(settled.ownWrites.map(\.id) == ["a"])
        #expect(settled.decided.first?.revision == RevisionID("2-b"))
    }

    /// What was refused did not happen: it must not count as an effect that somebody undid.
    @Test(arguments: [.rejected(status: 403, reason: "no"), .conflict, .undecided(reason: "")] as [BulkOutcome])
    func whatWasNotWrittenIsNotRemembered(outcome: BulkOutcome) {
        var settled = Settlement()
        _ = settled.record(outcome, of: candidate(), attemptLimit: Self.limit)
        #expect(settled.writtenDocuments.isEmpty && settled.ownWrites.isEmpty)
    }

    @Test func whatNeededNoWriteHasNoEffect() {
        var settled = Settlement()
        settled.end(candidate(), isWrite: false)
        #expect(settled.ownWrites.isEmpty && settled.decided.count == 1)
    }

    /// The dead letter names the last rule that fired, and replaces the document's earlier dead letters.
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
