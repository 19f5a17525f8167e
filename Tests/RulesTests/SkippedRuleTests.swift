import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct SkippedRuleTests {
    private let stamp = "name: stamp, when: {}, then: [merge: {seen: true}]"

    /// Each fails on `{"_id":"a","text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","list":[]}`.
    static let failing = [
        #"when: {}, then: [merge: {jq: "error(\"no\")"}]"#,
        #"when: {}, if: "error(\"no\")", then: []"#,
        #"when: {}, then: [merge: {half: 1}, merge: {jq: "1"}]"#,
        #"when: {}, then: [merge: {half: 1}, patch: [{op: remove, path: /gone}]]"#,
        #"when: {}, then: [put: {id: other, document: {a: 1}}, put: {id: {jq: "\"a\""}, document: {a: 1}}]"#,
        #"when: {}, then: [merge: {half: 1}, attach: {name: x, file: {jq: "\"none.png\""}, folder: /}]"#,
        #"when: {text: {$regex: "^(a+)+$(?<=b)"}}, then: [merge: {half: 1}]"#,
        #"when: {number: {$mod: [0, 0]}}, then: []"#,
    ]

    @Test(arguments: failing)
    func failingRuleDoesNotAffectOtherRules(rule: String) async throws {
        let document = #"{"_id":"a","text":"\#(String(repeating: "a", count: 40))","list":[],"number":4}"#
        let set = try ruleSet(lines: "name: bad, on_error: skip, \(rule)", stamp)
        let decision = try await set.decided(document)
        #expect(decision.error == nil)
        #expect(decision.skipped.map(\.rule) == ["bad"])
        #expect(decision.skipped.first?.reason.isEmpty == false)
        #expect(decision.fired.map { set.names[$0] } == ["stamp"])
        #expect(decision.document.string == document.dropLast() + #","seen":true}"#)
        #expect(decision.puts.isEmpty)
        let strict = try ruleSet(lines: "name: bad, \(rule)", stamp)
        #expect(try await strict.decided(document).error?.rule == "bad")
    }

    @Test func failureInALaterPassUndoesEarlierFirings() async throws {
        let set = try ruleSet(
            lines:
                #"name: bad, on_error: skip, when: {}, then: [merge: {jq: "if .seen then error(\"no\") else {half: 1} end"}, put: {id: other, document: {b: 1}}]"#,
            stamp)
        let decision = try await set.decided(#"{"_id":"a"}"#)
        #expect(decision.skipped == [Decision.Skip(rule: "bad", reason: "merge: the program fails: no")])
        #expect(decision.document.string == #"{"_id":"a","seen":true}"#)
        #expect(decision.fired == [1] && decision.puts.isEmpty)
    }

    @Test func skippedRulesAreListedInOrderOfFailure() async throws {
        let set = try ruleSet(
            lines: #"name: late, on_error: skip, when: {seen: true}, then: [merge: {jq: "error(\"1\")"}]"#,
            #"name: early, on_error: skip, when: {}, then: [merge: {jq: "error(\"2\")"}]"#, stamp)
        #expect(try await set.decided(#"{"_id":"a"}"#).skipped.map(\.rule) == ["early", "late"])
    }

    @Test func skippableRulesOfALoopAreSkipped() throws {
        let up = "name: up, when: {x: 1}, then: [merge: {x: 2}]"
        let down = "when: {x: 2}, then: [merge: {x: 1}]"
        let set = try ruleSet(lines: up, "name: down, on_error: skip, \(down)", stamp)
        let decision = try set.decide(#"{"x":1}"#)
        #expect(decision.error == nil)
        #expect(decision.skipped == [Decision.Skip(rule: "down", reason: "rule loop: up ↔ down")])
        #expect(decision.document.string == #"{"x":2,"seen":true}"#)
        let strict = try ruleSet(lines: up, "name: down, \(down)", "name: idle, on_error: skip, when: {}, then: []")
        #expect(try strict.decide(#"{"x":1}"#).error?.description == "rule loop: up ↔ down")
    }

    @Test func editOfADocumentWithDuplicateMembersIsSkipped() throws {
        let set = try ruleSet(
            lines: "name: edit, on_error: skip, when: {}, then: [merge: {seen: true}]",
            "name: other, when: {}, then: [put: {id: b, document: {x: 1}}]")
        let decision = try set.decide(#"{"_id":"a","x":1,"x":2}"#)
        #expect(decision.skipped.map(\.rule) == ["edit"] && decision.error == nil)
        #expect(!decision.isChanged && decision.puts.count == 1)
    }

    @Test func onErrorAffectsTheHashOnlyIfItIsSet() throws {
        let plain = try ruleSet(lines: stamp).hash
        #expect(try ruleSet(lines: "on_error: set-aside, " + stamp).hash == plain)
        #expect(try ruleSet(lines: "on_error: skip, " + stamp).hash != plain)
    }

    @Test func reportsAndTestsShowSkippedRules() async throws {
        let set = try ruleSet(
            lines: #"name: bad, on_error: skip, when: {}, then: [merge: {jq: "error(\"no\")"}]"#, stamp)
        let document = try JSONText(#"{"_id":"a"}"#)
        let report = DecisionReport(document, try await set.decided(document.string), names: set.names)
        #expect(
            String(decoding: report.line(), as: UTF8.self)
                == #"{"id":"a","fired":["stamp"],"patch":[{"op":"add","path":"/seen","value":true}],"#
                + #""attachments":[],"deleted":false,"effects":[{"rule":"bad","action":"skip","reason":"merge: the program fails: no"}],"#
                + #""error":null}"#)
    }

    @Test(arguments: [
        ("fired: [stamp]", false), ("effects: []", false), ("error: 'bad'", true), ("error: other", false),
        ("fired: [stamp], error: true", true), ("effects: [], error: bad", true), ("document: {seen: true}", false),
        ("effects: [{rule: bad, action: skip}]", true), ("effects: [{rule: stamp, action: skip}]", false),
    ])
    func ruleFileTestsCanExpectASkip(expectation: String, passes: Bool) async throws {
        let text = """
            version: 1
            rules:
              - { name: bad, on_error: skip, when: {}, then: [merge: {jq: 'error("no")'}] }
              - { \(stamp) }
            tests: [{ name: t, given: {}, expect: { \(expectation) } }]

            """
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: shared)
        #expect(file.errors == [])
        let files = RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
        #expect(await files.runTests(now: 0).map(\.hasPassed) == [passes])
    }
}
