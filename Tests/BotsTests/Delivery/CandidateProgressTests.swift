import DocumentFlow
import GatewayClient
import LosslessJSON
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// What each result means for a candidate, at each of its steps.
@Suite struct CandidateProgressTests {
    private static let limit = 10
    private static let now = ContinuousClock.now

    private static func candidate(
        _ reason: Reason = Reason(), isDeleted: Bool = false, _ edit: (inout Candidate) -> Void = { _ in }
    ) -> Candidate {
        var candidate = Candidate(
            "a", Content(RevisionID("1-a"), Array("{}".utf8), isDeleted: isDeleted), reason: reason)
        candidate.history.lastRule = "last"
        edit(&candidate)
        return candidate
    }

    /// A command for comparison.
    private enum Next: Equatable {
        case proceed, again, wait, abandon
        case wrote, hadOtherEffects, resolved, unchanged, shown, skipped, deadLettered

        init(_ command: CandidateProgress.Command) {
            switch command {
            case .proceed: self = .proceed
            case .again: self = .again
            case .wait: self = .wait
            case .abandon: self = .abandon
            case .end(.wrote): self = .wrote
            case .end(.hadOtherEffects): self = .hadOtherEffects
            case .end(.resolved): self = .resolved
            case .end(.unchanged): self = .unchanged
            case .end(.shown): self = .shown
            case .end(.skipped): self = .skipped
            case .end(.deadLettered): self = .deadLettered
            }
        }
    }

    // MARK: - Reading

    private struct Reading: Sendable {
        let found: CandidateProgress.Found
        var reason = Reason()
        let next: Next
    }

    @Test(arguments: [
        Reading(found: .document(RevisionID("2-b"), Array("{}".utf8)), next: .proceed),
        Reading(found: .tombstone(nil), next: .proceed),
        Reading(found: .gone(nil), next: .unchanged),
        Reading(found: .gone(nil), reason: Reason(countsOnly: true), next: .skipped),
        Reading(found: .unreadable(reason: "no"), next: .deadLettered), Reading(found: .noConflict, next: .proceed),
    ])
    private func readResultLeadsToTheNextCommand(test: Reading) {
        var progress = CandidateProgress(Self.candidate(test.reason))
        let next = Next(progress.take(test.found))
        #expect(next == test.next)
        #expect(progress.isOver == (next != .proceed))
    }

    /// Another revision explains the conflicts before it.
    @Test(arguments: [("1-a", 3), ("2-b", 0)])
    func newRevisionExplainsConflicts(revision: String, unexplained: Int) {
        var progress = CandidateProgress(Self.candidate { $0.history.unexplainedConflicts = 3 })
        _ = progress.take(.document(RevisionID(revision), [1]))
        #expect(progress.candidate.history.unexplainedConflicts == unexplained)
        #expect(progress.candidate.content.revision == RevisionID(revision))
    }

    /// A document that is gone has no timers. Its dead letters may belong to its tombstone, unless it is being retried.
    @Test(arguments: [[], [7]])
    func goneDocumentHasNoTimers(deadLetters: [Int]) {
        var progress = CandidateProgress(Self.candidate(Reason(deadLetters: deadLetters)))
        _ = progress.take(.gone(nil))
        #expect(progress.result.times == [])
        #expect((progress.candidate.content.highestDeadLetterNumber == 0) == deadLetters.isEmpty)
    }

    /// Otherwise the rule for the former winner would resolve the conflict. A gateway with another order of leaves is
    /// asked only a few times.
    @Test(arguments: [("1-a", 0, Next.proceed), ("2-b", 0, .again), ("2-b", 5, .proceed)])
    private func conflictIsDecidedWithItsWinner(winner: String, outdated: Int, next: Next) throws {
        let leaves = try [winner, "1-0"].map { revision in
            ConflictLeaf(try JSONText(Array("{}".utf8)), revision: revision, after: [])
        }
        var progress = CandidateProgress(Self.candidate { $0.history.outdatedDecisions = outdated })
        #expect(Next(progress.take(.conflict(Conflict(leaves)))) == next)
        #expect(progress.candidate.content.isUnread == (next == .again))
    }

    @Test func leavesAreNotRequestedAgainForADocumentWithOneLeaf() {
        var progress = CandidateProgress(Self.candidate(Reason(leaves: [RevisionID("1-a"), RevisionID("1-b")])))
        #expect(progress.candidate.mayBeInConflict(hasDeadLetters: false))
        _ = progress.take(.noConflict)
        #expect(!progress.candidate.mayBeInConflict(hasDeadLetters: false))
    }

    // MARK: - Deciding

    private struct Deciding: Sendable {
        let decided: CandidateProgress.DecisionResult
        var reason = Reason()
        let next: Next
    }

    private static let deadLetter = DeadLetter(sequence: nil, id: "a", revision: nil, reason: "no")

    @Test(arguments: [
        Deciding(decided: .ownRevision(isCounted: false), next: .skipped),
        Deciding(decided: .ownRevision(isCounted: true), next: .proceed),
        // An own revision that must be counted is only counted.
        Deciding(decided: .ownRevision(isCounted: false), reason: Reason(isFromCount: true), next: .proceed),
        Deciding(decided: .ownRevision(isCounted: false), reason: Reason(recount: 3), next: .proceed),
        Deciding(decided: .counted(failure: nil), next: .skipped),
        Deciding(decided: .counted(failure: deadLetter), next: .deadLettered),
        Deciding(decided: .impossible(reason: "no"), next: .deadLettered),
        Deciding(decided: .refused(deadLetter), next: .deadLettered), Deciding(decided: .deferred(.slow), next: .again),
        Deciding(decided: .noProcess, next: .again), Deciding(decided: .waits(until: now, lastRule: "r"), next: .wait),
        Deciding(decided: .skipped, next: .skipped),
        Deciding(decided: .abandoned, next: .abandon),
    ])
    private func decisionLeadsToTheNextCommand(test: Deciding) {
        var progress = CandidateProgress(Self.candidate(test.reason))
        let next = Next(progress.take(test.decided))
        #expect(next == test.next)
        #expect(progress.isOver == (next != .proceed))
        if case .ownRevision = test.decided { #expect(progress.candidate.reason.countsOnly == (next == .proceed)) }
        if case .deferred(.slow) = test.decided { #expect(progress.candidate.history.isSlow) }
    }

    // MARK: - Stages

    private static func planned(_ candidate: Candidate = candidate()) throws -> CandidateProgress {
        let document = try JSONText(#"{"_id":"a"}"#)
        var progress = CandidateProgress(candidate)
        _ = progress.take(.plan(Plan(DecisionReport(document, Decision(document), names: [])), PlanResult()))
        return progress
    }

    private struct StageCase: Sendable {
        let answer: CandidateProgress.StageAnswer
        var outdated = 0
        let next: Next
    }

    @Test(arguments: [
        StageCase(answer: .done(hasEffect: false), next: .proceed),
        StageCase(answer: .done(hasEffect: true), next: .proceed), StageCase(answer: .outdated, next: .again),
        StageCase(answer: .outdated, outdated: 3, next: .again),
        // After every five in a row, it waits for a while.
        StageCase(answer: .outdated, outdated: 4, next: .wait), StageCase(answer: .outdated, outdated: 5, next: .again),
        StageCase(answer: .outdated, outdated: 9, next: .wait),
        StageCase(answer: .impossible(rule: nil, reason: "no"), next: .deadLettered),
        StageCase(answer: .waits(until: now), next: .wait), StageCase(answer: .resolved, next: .resolved),
        StageCase(answer: .notResolved(nil), next: .again),
        StageCase(answer: .notResolved(SkippedRule(rule: "r", reason: "no")), next: .again),
    ])
    private func stageResultLeadsToTheNextCommand(test: StageCase) throws {
        var progress = try Self.planned(Self.candidate { $0.history.outdatedDecisions = test.outdated })
        let next = Next(progress.take(test.answer, now: Self.now))
        #expect(next == test.next)
        #expect(progress.isOver == (next != .proceed))
        if case .outdated = test.answer { #expect(progress.candidate.content.isUnread) }
    }

    @Test(arguments: [(nil, "last"), ("first", "first")])
    func impossibleEffectNamesItsRule(rule: String?, blamed: String) throws {
        var progress = try Self.planned(Self.candidate { $0.history.lastRule = "last" })
        progress.edit { _, _, history in history.lastRule = "last" }
        guard case .end(.deadLettered(let letter)) = progress.take(.impossible(rule: rule, reason: "no"), now: Self.now)
        else {
            Issue.record("it continues")
            return
        }
        #expect(letter.rule == blamed && letter.reason == "no")
    }

    /// The rules without `resolve` decide it next, and the failure of that rule is kept.
    @Test func unresolvedDocumentIsDecidedByOtherRules() throws {
        var progress = try Self.planned(
            Self.candidate(Reason(leaves: [RevisionID("1-a"), RevisionID("1-b")])) { $0.history.isCounted = true })
        _ = progress.take(.notResolved(SkippedRule(rule: "r", reason: "no")), now: Self.now)
        #expect(!progress.candidate.mayBeInConflict(hasDeadLetters: false) && !progress.candidate.history.isCounted)
        #expect(progress.candidate.history.unresolved?.rule == "r")
    }

    @Test(arguments: [false, true])
    func candidateEndsWithItsEffect(hasEffect: Bool) throws {
        var progress = try Self.planned()
        _ = progress.take(.done(hasEffect: hasEffect), now: Self.now)
        _ = progress.take(.done(hasEffect: false), now: Self.now)
        #expect(Next(progress.endWithoutWrite()) == (hasEffect ? .hadOtherEffects : .unchanged))
    }

    // MARK: - Writing

    private struct Write: Sendable {
        let outcome: BulkOutcome
        var attempts = 0
        var conflicts = 0
        var failures = 0
        var unexplained = 0
        let next: Next
    }

    @Test(arguments: [
        Write(outcome: .written(RevisionID("2-b")), next: .wrote),
        Write(outcome: .rejected(status: 403, reason: "no"), next: .deadLettered),
        // A failed write is retried, but not forever. Conflicts before it don't count as failures.
        Write(outcome: .failed(reason: "x"), next: .again),
        Write(outcome: .failed(reason: "x"), failures: 8, next: .again),
        Write(outcome: .failed(reason: "x"), failures: 9, next: .deadLettered),
        Write(outcome: .failed(reason: "x"), attempts: 1000, failures: 8, next: .again),
        // If the gateway can't decide now, the document is not given up.
        Write(outcome: .undecided(reason: "busy"), attempts: 1000, failures: 9, next: .again),
        // Nor is it after writes of others. But if the gateway keeps refusing its current revision, it is given up.
        Write(outcome: .conflict, attempts: 1000, next: .again),
        Write(outcome: .conflict, attempts: 1000, unexplained: 8, next: .again),
        Write(outcome: .conflict, attempts: 1000, unexplained: 9, next: .deadLettered),
        Write(outcome: .unmentioned, unexplained: 8, next: .again),
        Write(outcome: .unmentioned, unexplained: 9, next: .deadLettered),
        // Other writers keep changing it.
        Write(outcome: .conflict, attempts: 9, conflicts: 9, next: .wait),
    ])
    private func writeOutcomeLeadsToTheNextCommand(test: Write) {
        var progress = CandidateProgress(
            Self.candidate {
                $0.history.attempts = test.attempts
                $0.history.conflicts = test.conflicts
                $0.history.failures = test.failures
                $0.history.unexplainedConflicts = test.unexplained
            })
        let next = Next(progress.take(test.outcome, attemptLimit: Self.limit, now: Self.now))
        #expect(next == test.next)
        #expect(progress.candidate.history.attempts == test.attempts + 1)
    }

    /// Only failures are counted, not other outcomes between them: a contested document gets as many attempts as any
    /// other. The conflicts here are with other revisions.
    @Test(
        arguments: [
            ([(.conflict, 9), (.failed(reason: "x"), 1)], nil), ([(.conflict, 9), (.failed(reason: "x"), 9)], nil),
            ([(.conflict, 9), (.failed(reason: "x"), 10)], 19),
            ([(.undecided(reason: "busy"), 50), (.failed(reason: "x"), 9)], nil),
            ([(.failed(reason: "x"), 5), (.conflict, 3), (.failed(reason: "x"), 4)], nil),
            ([(.failed(reason: "x"), 5), (.conflict, 3), (.failed(reason: "x"), 5)], 13),
        ] as [([(BulkOutcome, Int)], Int?)])
    func onlyFailuresCountAsFailures(outcomes: [(BulkOutcome, Int)], attemptsOfDeadLetter: Int?) {
        var candidate = Self.candidate()
        var attempts: Int?
        for outcome in outcomes.flatMap({ Array(repeating: $0.0, count: $0.1) }) {
            #expect(attempts == nil)
            var progress = CandidateProgress(candidate)
            let command = progress.take(outcome, attemptLimit: Self.limit, now: Self.now)
            if case .end(.deadLettered(let letter)) = command { attempts = letter.attempts }
            candidate = progress.candidate
            candidate.history.unexplainedConflicts = 0
        }
        #expect(attempts == attemptsOfDeadLetter)
    }

    /// A document is contested if its writes conflict ten times in a row, not merely if it is written ten times.
    @Test(
        arguments: [
            ([(.conflict, 9)], false), ([(.conflict, 10)], true), ([(.conflict, 11)], false), ([(.conflict, 20)], true),
            ([(.undecided(reason: "busy"), 10)], false), ([(.failed(reason: "x"), 9), (.conflict, 1)], false),
            ([(.conflict, 9), (.undecided(reason: "busy"), 1)], false),
            ([(.conflict, 9), (.undecided(reason: "busy"), 1), (.conflict, 9)], false),
            ([(.conflict, 9), (.unmentioned, 1), (.conflict, 10)], true),
        ] as [([(BulkOutcome, Int)], Bool)])
    func consecutiveConflictsMakeADocumentContested(outcomes: [(BulkOutcome, Int)], isContested: Bool) {
        var history = History()
        for outcome in outcomes.flatMap({ Array(repeating: $0.0, count: $0.1) }) { history.note(outcome) }
        #expect(history.isContested == isContested)
    }

    /// A conflict shows that a tombstone may not be the newest revision; an undecided write shows nothing.
    @Test(arguments: [(BulkOutcome.conflict, true), (.undecided(reason: ""), false)])
    func tombstoneIsReadAgainOnlyAfterAConflict(outcome: BulkOutcome, isUnread: Bool) {
        var progress = CandidateProgress(Self.candidate(isDeleted: true))
        _ = progress.take(outcome, attemptLimit: Self.limit, now: Self.now)
        #expect(progress.candidate.content.isUnread == isUnread && !progress.candidate.content.document.isEmpty)
    }
}
