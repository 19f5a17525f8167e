import DocumentFlow
import GatewayClient
import Testing

@testable import BotState
@testable import Delivery

/// What is recorded and counted when candidates end.
@Suite struct EndingsTests {
    private func course(
        _ id: DocumentID = "a", deadLetters: [Int] = [], _ edit: (inout PlanResult) -> Void = { _ in }
    ) -> Course {
        var result = PlanResult()
        result.rules = ["first", "last"]
        result.fingerprint = ContentFingerprint(bytes: Array(1...16))
        edit(&result)
        return Course(
            Candidate(id, Content(RevisionID("1-a"), Array("{}".utf8)), reason: Reason(deadLetters: deadLetters)),
            result: result)
    }

    private func endings(_ course: Course, _ ending: Ending) -> Endings {
        var endings = Endings()
        endings.append(course, ending)
        return endings
    }

    /// Its own revision and the content that led to the write must both be on disk before its tickets are finished.
    @Test func ownWriteIsRecorded() {
        let endings = endings(course(), .wrote(RevisionID("2-b")))
        #expect(endings.ownWrites.map(\.revision) == [RevisionID("2-b")])
        #expect(endings.ownWrites.map(\.id) == ["a"] && endings.writtenDocuments == ["a"])
    }

    /// If a receiver's response was merged into it, the new revision is a change that rules must decide.
    @Test func revisionWithAMergedResponseIsDecidedAgain() {
        let endings = endings(
            course {
                $0.cause = RuleChain()
                $0.keptChain = RuleChain()
            }, .wrote(RevisionID("2-b")))
        #expect(endings.ownWrites.map(\.revision) == [nil])
        #expect(endings.caused.map(\.revision) == [RevisionID("2-b")] && endings.changedAgain == ["a"])
    }

    @Test(arguments: [(Ending.tookEffect, true), (.resolved, true), (.unchanged, false), (.shown, false)])
    func onlyEffectsAreRecorded(ending: Ending, isRemembered: Bool) {
        let endings = endings(course(), ending)
        #expect(endings.ownWrites.map(\.revision) == (isRemembered ? [nil] : []))
        #expect(endings.decided.count == 1 && endings.writtenDocuments.isEmpty)
    }

    /// A new dead letter replaces the document's earlier ones. Dead letters of finished documents are settled.
    @Test func deadLettersOfFinishedDocumentsAreDropped() {
        var endings = Endings()
        endings.append(course("a", deadLetters: [1, 2]), .unchanged)
        endings.append(course("b", deadLetters: [3]), .passedOver)
        let failed = course("c", deadLetters: [4])
        endings.append(failed, .deadLettered(failed.candidate.deadLetter(reason: "x")))
        #expect(endings.settledDeadLetters == [1, 2, 3])
        #expect(endings.deadLetters.map(\.replaced) == [[4]])
    }

    /// A single failed rule gets its own dead letter once the effects of the other rules are written.
    @Test func skippedRuleHasItsOwnDeadLetter() {
        let endings = endings(
            course(deadLetters: [4]) { $0.skippedRules = [SkippedRule(rule: "broken", reason: "no number")] },
            .tookEffect)
        #expect(endings.deadLetters.map(\.rule) == ["broken"] && endings.deadLetters.map(\.replaced) == [[]])
        #expect(endings.deadLetters.map(\.isOfRuleAlone) == [true])
        #expect(endings.deadLettered.isEmpty)
    }

    /// Beyond the error limit, documents are neither dead-lettered nor finished.
    @Test func deadLettersBeyondTheLimitAreDropped() {
        var endings = Endings()
        for id in ["a", "b", "c"] as [DocumentID] {
            let course = course(id)
            endings.append(course, .deadLettered(course.candidate.deadLetter(reason: "x")))
        }
        endings.keepDeadLetters(2)
        #expect(endings.deadLetters.map(\.id) == ["a", "b"])
        #expect(endings.candidates.map(\.id) == ["a", "b"])
    }

    /// Dead letters and sent events are recorded before the next request is sent.
    @Test(arguments: [
        (Ending.wrote(RevisionID("2-b")), false), (.unchanged, false), (.passedOver, false), (.tookEffect, true),
        (.deadLettered(DeadLetter(sequence: nil, id: "a", revision: nil, reason: "x")), true),
    ])
    func effectsAndDeadLettersAreRecordedFirst(ending: Ending, isFirst: Bool) {
        #expect(endings(course(), ending).mustBeRecordedFirst == isFirst)
    }

    @Test func eachEndIsCountedOnce() {
        var endings = Endings()
        endings.append(course("a"), .wrote(RevisionID("2-b")))
        endings.append(course("b") { $0.isDeletion = true }, .wrote(RevisionID("2-b")))
        endings.append(course("c"), .unchanged)
        endings.append(course("d") { $0.rules = [] }, .unchanged)
        let outcomes: [BulkOutcome] = [.conflict, .rejected(status: 403, reason: "no"), .undecided(reason: "busy")]
        for outcome in outcomes {
            var course = course("e")
            endings.note(outcome, course.take(outcome, attemptLimit: 10, now: .now))
        }
        var counters = RunCounters()
        endings.count(in: &counters)
        #expect(counters.written == 2 && counters.deleted == 1 && counters.unchanged == 1)
        #expect(counters.conflicts == 1 && counters.rejected == 1)
    }
}
