import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Rules with `at`, in real helper processes.
@Suite(.limitedParallelism) struct RuleTimeTests {
    /// 20 November 2026, 10:00 UTC.
    private static let now = 1_795_168_800

    private func decided(
        _ set: RuleSet, _ document: String, now: Int = now, fired: [String: Int] = [:]
    ) async throws -> Decision {
        let input = DecisionInput(try JSONText(document), firedTimes: fired)
        return try #require(await set.makeDecider().decide(on: [input], now: now).first)
    }

    private func reminders(_ more: String = "") throws -> RuleSet {
        try ruleSet(lines: "name: remind, when: {type: task}, at: .dueAt, \(more) then: [merge: {late: true}]")
    }

    @Test(arguments: [
        ("1795168800", 0), ("1795168799.1", 0), ("1795168800.1", 1), (#""2026-11-20T10:00:00Z""#, 0),
        (#""2026-11-20T11:00:00.001+01:00""#, 1), (#""2026-11-21""#, 50_400), ("0", -1_795_168_800),
        ("253402300799", 251_607_131_999),
    ])
    func timeIsSecondsOrADate(value: String, seconds: Int) async throws {
        let decision = try await decided(reminders(), #"{"type":"task","dueAt":\#(value)}"#)
        #expect(decision.error == nil)
        #expect(decision.times == [RuleTime(rule: "remind", due: Self.now + seconds, hasFired: seconds <= 0)])
        #expect(decision.fired == (seconds <= 0 ? [0] : []))
        #expect(decision.isChanged == (seconds <= 0))
    }

    @Test(arguments: ["null", "false"])
    func ruleWithoutATimeDoesNotFire(value: String) async throws {
        let decision = try await decided(reminders(), #"{"type":"task","dueAt":\#(value)}"#)
        #expect(decision.error == nil && decision.fired.isEmpty && decision.times.isEmpty)
    }

    @Test func programWithoutOutputGivesNoTime() async throws {
        let set = try ruleSet(lines: "name: a, when: {}, at: empty, then: [merge: {late: true}]")
        let decision = try await decided(set, "{}")
        #expect(decision.error == nil && decision.fired.isEmpty && decision.times.isEmpty)
    }

    @Test(arguments: [
        ("true", "at: the program gives true, which is not a time"),
        ("[1]", "at: the program gives [1], which is not a time"),
        ("-1", "at: the program gives -1, which is before 1970"),
        ("1795168800000", "which is after the year 9999; it must be seconds, so divide milliseconds by 1000"),
        (#""tomorrow""#, #"at: the program gives "tomorrow", which is not a time; write a date such as"#),
        (#""202611""#, "which is not a time"), (#""2026-11-20T10:00""#, "append Z if it is UTC"),
        (#""2026-02-30""#, "a day that does not exist"),
        (#""1969-12-31""#, "which is before 1970; a time can't be negative"),
        (#""9999-12-31T23:59:59.5Z""#, "which is after the year 9999"),
    ])
    func invalidTimeIsAnError(value: String, message: String) async throws {
        let decision = try await decided(reminders(), #"{"type":"task","dueAt":\#(value)}"#)
        #expect(decision.error?.rule == "remind")
        #expect(decision.error?.reason.contains(message) == true, "\(String(describing: decision.error))")
        let skipping = try await decided(reminders("on_error: skip,"), #"{"type":"task","dueAt":\#(value)}"#)
        #expect(skipping.error == nil && skipping.skipped.map(\.rule) == ["remind"] && skipping.times.isEmpty)
    }

    @Test func severalTimesAreAnError() async throws {
        let set = try ruleSet(lines: "name: a, when: {}, at: '1, 2', then: []")
        #expect(try await decided(set, "{}").error?.reason == "at: the program gives 2 values, not one")
    }

    @Test func ruleFiresOnceForEachTime() async throws {
        let document = #"{"type":"task","dueAt":1795168000}"#
        let again = try await decided(reminders(), document, fired: ["remind": 1_795_168_000])
        #expect(again.fired.isEmpty && !again.isChanged)
        #expect(again.times == [RuleTime(rule: "remind", due: 1_795_168_000, hasFired: true)])
        let clockSetBack = try await decided(reminders(), document, now: 1, fired: ["remind": 1_795_168_000])
        #expect(clockSetBack.times == again.times)
        let moved = try await decided(reminders(), document, fired: ["remind": 1_795_167_000])
        #expect(moved.fired == [0] && moved.firedTimes == [0: 1_795_168_000])
    }

    /// Otherwise a counter would run until the decision fails as a loop.
    @Test func ruleFiresOnceInADecision() async throws {
        let set = try ruleSet(lines: "name: a, when: {}, at: .dueAt, then: [merge: {n: {jq: .n + 1}}]")
        let decision = try await decided(set, #"{"dueAt":1,"n":1}"#)
        #expect(decision.error == nil)
        #expect(decision.document.string == #"{"dueAt":1,"n":2}"#)
    }

    @Test func timeIsEvaluatedOnTheFinalDocument() async throws {
        let set = try ruleSet(
            lines: "name: wait, when: {}, at: .dueAt, then: [merge: {late: true}]",
            "name: move, when: {moved: {$exists: false}}, then: [merge: {moved: true, dueAt: 1795169000}]")
        let decision = try await decided(set, #"{"dueAt":1795168900}"#)
        #expect(decision.times == [RuleTime(rule: "wait", due: 1_795_169_000, hasFired: false)])
        let deleting = try ruleSet(
            lines: "name: wait, when: {}, at: .dueAt, then: []", "name: gone, when: {}, then: [delete: {}]")
        #expect(try await decided(deleting, #"{"_id":"a","dueAt":1795168900}"#).times.isEmpty)
    }

    @Test func otherConditionsAreEvaluatedAtTheTime() async throws {
        let set = try reminders("if: .done | not,")
        let waiting = try await decided(set, #"{"type":"task","dueAt":1795168900,"done":true}"#)
        #expect(waiting.times.map(\.hasFired) == [false])
        let done = try await decided(set, #"{"type":"task","dueAt":1795168700,"done":true}"#)
        #expect(done.fired.isEmpty && done.times.isEmpty)
        let other = try await decided(set, #"{"type":"list","dueAt":1795168900}"#)
        #expect(other.times.isEmpty)
    }

    @Test func timerIsShownAsAnEffect() async throws {
        let set = try reminders()
        let document = try JSONText(#"{"_id":"t","type":"task","dueAt":1795168900}"#)
        let decision = try #require(await set.makeDecider().decide(on: [DecisionInput(document)], now: Self.now).first)
        let line = String(decoding: DecisionReport(document, decision, names: set.names).line(), as: UTF8.self)
        #expect(
            line.contains(#""effects":[{"rule":"remind","action":"timer","at":"2026-11-20T10:01:40Z"}]"#), "\(line)")
    }

    @Test func explanationNamesTheTime() async throws {
        func explained(_ document: String) async throws -> (rule: String, summary: String) {
            let input = DecisionInput(try JSONText(document))
            let (rules, summary) = await (try reminders("if: .done | not,")).explain(input, now: Self.now)
            return (rules[0].reason, summary)
        }
        let waiting = try await explained(#"{"type":"task","dueAt":1795168900}"#)
        #expect(waiting.rule == "does not fire before 2026-11-20T10:01:40Z, its time (`at`)")
        #expect(
            waiting.summary
                == "all rules together: none fires; the document stays as it is; timers: remind at 2026-11-20T10:01:40Z"
        )
        #expect(try await explained(#"{"type":"task"}"#).rule == "does not fire: `at` gives no time")
        #expect(try await explained(#"{"type":"task","dueAt":1}"#).rule == "fires")
        #expect(try await explained(#"{"type":"task","dueAt":1,"done":1}"#).rule == "does not fire: `if` is not true")
        let broken = try await explained(#"{"type":"task","dueAt":{}}"#).rule
        #expect(broken.hasPrefix("can't be decided: at: the program gives {}, which is not a time"), "\(broken)")
    }

    @Test(arguments: [
        (
            "version: 1\nrules:\n- {name: a, when: {}, at: {jq: .a, type: number}, then: []}\n",
            "r.yaml:3:42: 'at' has no type"
        ),
        (
            "version: 1\nrules:\n- {name: a, when: {}, at: 2026-12-31, then: []}\n",
            #"r.yaml:3:27: 'at' is a jq program, in which 2026-12-31 is not a date; write the date as a string "#
                + #"in the program: at: '"2026-12-31"'"#
        ),
        (
            "version: 1\nrules:\n- {name: a, when: {}, at: '2026-12-31T08:00:00Z', then: []}\n",
            "r.yaml:3:27: 'at' is a jq program, in which 2026-12-31T08:00:00Z is"
        ),
        ("version: 1\nrules:\n- {name: a, when: {}, at: 5, then: []}\n", "a jq program must be text"),
        ("version: 1\nrules:\n- {name: a, when: {}, at: '.a |', then: []}\n", "r.yaml:3:32: not a jq program"),
        (
            "version: 1\nrules:\n- {name: a, when: {}, on: [delete], at: .a, then: []}\n",
            "r.yaml:3:41: 'at' needs an existing document, and a deleted one is gone"
        ),
        (
            "version: 1\nkind: mapping\nrules:\n- {name: a, when: {}, at: .a, then: []}\n",
            "r.yaml:4:27: 'at' has no meaning in a mapping"
        ),
    ])
    func ruleWithAnInvalidTimeIsRefused(file: String, message: String) {
        #expect(errors(file).contains { $0.contains(message) }, "\(errors(file))")
    }

    @Test func timeAffectsTheHash() throws {
        let hashes = try [".a", ".b"].map { try ruleSet(lines: "name: a, when: {}, at: \($0), then: []").hash }
        #expect(hashes[0] != hashes[1])
    }
}
