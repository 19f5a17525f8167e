import GatewayClient
import Testing

@testable import BotState
@testable import Bots

/// Where a run starts, and what it logs about that.
@Suite struct StartFactsTests {
    struct Case: Sendable {
        var checkpoint: Int?
        var checkpointRules = "r1"
        var isCheckpointReset = false
        var since: BotSettings.Start?
        var copy: DatabaseMark?
        var channels: [String]?
        var newest: Int?
        var notedRules: String?
        var changedRules: ChangedRules?
        let start: RunStart

        var facts: StartFacts {
            StartFacts(
                checkpoint: checkpoint.map { (sequence($0), checkpointRules) }, isCheckpointReset: isCheckpointReset,
                since: since, copy: copy, ruleSetHash: "r1", notedRuleSetHash: notedRules, changedRules: changedRules,
                channels: channels)
        }
    }

    private static func at(_ number: Int, _ notices: RunStart.Notice...) -> RunStart {
        RunStart(sequence(number), notices)
    }

    private static func copy(_ number: Int?, rules: String = "r1", channels: [String]? = nil) -> DatabaseMark {
        DatabaseMark(identity: "i").copying(
            number.map { (sequence($0), rules) }, channels: channels, savedAt: "then")
    }

    @Test(arguments: [
        Case(start: at(0)),
        Case(checkpoint: 5, start: at(5)),
        // The checkpoint overrides everything else.
        Case(checkpoint: 5, since: .beginning, start: at(5, .sinceIgnored)),
        Case(checkpoint: 5, since: .now, newest: 9, start: at(5, .sinceIgnored)),
        Case(checkpoint: 5, since: .sequence(sequence(7)), start: at(5, .sinceIgnored)),
        Case(checkpoint: 5, copy: copy(8), start: at(5)),
        Case(checkpoint: 5, checkpointRules: "r0", start: at(5, .rulesChanged([]))),
        Case(checkpoint: 5, checkpointRules: "r0", changedRules: ChangedRules(), start: at(5, .rulesChanged([]))),
        Case(
            checkpoint: 5, checkpointRules: "r0", changedRules: ChangedRules(plain: ["a"]),
            start: at(5, .rulesChanged(["a"]))),
        Case(
            checkpoint: 5, checkpointRules: "r0", changedRules: ChangedRules(plain: ["a"], timed: ["t"]),
            start: at(5, .rulesChanged(["a"]), .timedRulesChanged(["t"]))),
        // Only the actions of a rule with 'changed' were edited: it still knows the documents.
        Case(checkpoint: 5, changedRules: ChangedRules(knowing: ["a"]), start: at(5, .knowingRulesChanged(["a"]))),
        // For rules with aggregate, the run counts all documents and logs that.
        Case(checkpoint: 5, checkpointRules: "r0", changedRules: ChangedRules(areCounted: true), start: at(5)),
        // The rules changed in a run that did not save a checkpoint.
        Case(checkpoint: 5, changedRules: ChangedRules(plain: ["a"]), start: at(5, .rulesChanged(["a"]))),
        // The last run recorded the rules, but saved no checkpoint: it has reported the change.
        Case(checkpoint: 5, checkpointRules: "r0", notedRules: "r1", changedRules: ChangedRules(), start: at(5)),
        Case(checkpoint: 5, notedRules: "r0", changedRules: ChangedRules(), start: at(5, .rulesChanged([]))),
        // The copy records the channels.
        Case(checkpoint: 5, copy: copy(5, channels: ["a"]), channels: ["a"], start: at(5)),
        Case(checkpoint: 5, copy: copy(5, channels: ["a"]), channels: ["a", "b"], start: at(5, .channelsChanged)),
        Case(checkpoint: 5, copy: copy(5, channels: ["a"]), start: at(5, .channelsChanged)),
        Case(checkpoint: 5, copy: copy(5), channels: ["a"], start: at(5, .channelsChanged)),
        Case(checkpoint: 5, copy: copy(nil), channels: ["a"], start: at(5)),
        Case(
            checkpoint: 5, checkpointRules: "r0", since: .beginning, copy: copy(5), channels: ["a"], newest: 4,
            start: at(5, .sinceIgnored, .channelsChanged, .rulesChanged([]), .notReached(newest: sequence(4)))),
    ])
    func checkpointHasPriority(test: Case) {
        #expect(test.facts.start(newest: test.newest.map(sequence)) == test.start)
    }

    @Test(arguments: [
        Case(since: .beginning, copy: copy(8), newest: 9, start: at(0)),
        Case(since: .now, copy: copy(8), newest: 9, start: at(9)),
        Case(since: .now, copy: copy(8), start: at(0)),
        Case(since: .sequence(sequence(7)), copy: copy(8), newest: 9, start: at(7)),
        Case(since: .sequence(sequence(7)), newest: 6, start: at(7, .notReached(newest: sequence(6)))),
        Case(since: .sequence(sequence(7)), newest: 7, start: at(7)),
    ])
    func sinceHasPriorityOverTheCopy(test: Case) {
        #expect(test.facts.start(newest: test.newest.map(sequence)) == test.start)
    }

    @Test(arguments: [
        Case(copy: copy(8), newest: 9, start: at(8, .atCheckpointCopy(savedAt: "then"))),
        Case(
            copy: copy(8), newest: 7, start: at(8, .atCheckpointCopy(savedAt: "then"), .notReached(newest: sequence(7)))
        ),
        Case(copy: copy(8, channels: ["a"]), channels: ["a"], start: at(8, .atCheckpointCopy(savedAt: "then"))),
        Case(copy: copy(nil), start: at(0)),
        // Changes that other rules or channels have finished still count as new.
        Case(copy: copy(8, rules: "r0"), start: at(0, .otherCopy)),
        Case(copy: copy(8, channels: ["a"]), start: at(0, .otherCopy)),
        Case(copy: copy(8), channels: ["a"], start: at(0, .otherCopy)),
        // The checkpoint was reset by a command: the copy must not restore it.
        Case(isCheckpointReset: true, copy: copy(8), start: at(0)),
        Case(isCheckpointReset: true, copy: copy(8, rules: "r0"), start: at(0)),
        Case(isCheckpointReset: true, since: .sequence(sequence(7)), start: at(7)),
    ])
    func copyIsUsedWithoutCheckpointAndSince(test: Case) {
        #expect(test.facts.start(newest: test.newest.map(sequence)) == test.start)
    }

    @Test(arguments: [
        Case(since: .now, start: at(0)), Case(since: .now, copy: copy(8), start: at(0)),
    ])
    func startAtTheEndNeedsTheNewestSequence(test: Case) {
        #expect(test.facts.needsNewest)
    }

    @Test(arguments: [
        Case(start: at(0)), Case(since: .beginning, start: at(0)), Case(since: .sequence(sequence(7)), start: at(0)),
        Case(checkpoint: 5, since: .now, start: at(0)),
    ])
    func otherStartsDoNotNeedTheNewestSequence(test: Case) {
        #expect(!test.facts.needsNewest)
    }

    /// Sequences of one CouchDB database are compared by their numbers. Sequences of different forms can't be compared.
    @Test(arguments: [
        ("7-g1AAA", "6-g1AAB", true), ("7-g1AAA", "8-g1AAB", false), ("7-g1AAA", "x", false), ("x", "7", false),
    ])
    func warningNeedsComparableSequences(since: String, newest: String, isWarned: Bool) throws {
        let start = try #require(SequenceID(since))
        let newest = try #require(SequenceID(newest))
        let facts = Case(since: .sequence(start), start: RunStart(start)).facts
        #expect(facts.start(newest: newest).notices == (isWarned ? [.notReached(newest: newest)] : []))
    }
}
