import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Rules and tests that are added to a file as lines.
@Suite struct RuleAdditionTests {
    private static let other = """
        # About it.
        version: 1

        rules:
          # the second
          - name: b
            when: { type: b }   # why

            then:
              - merge: { b: 1 }

        tests:
          - name: b fires
            given: { _id: b1, type: b }
            expect:
              fired: [b]

        """

    private func added(_ text: String, path: String = "r.yaml") throws -> String {
        String(
            decoding: try RuleFileAddition(path: path, bytes: Array(text.utf8)).adding(rulesOf: Array(Self.other.utf8)),
            as: UTF8.self)
    }

    @Test func rulesAndTestsAreAppended() throws {
        let start = "# mine\nversion: 1\nrules:\n- name: a\n  when: { type: a }\n  then: [{ merge: { a: 1 } }]\n"
        let end = "\n# the tests\ntests:\n    - { name: t, given: {}, expect: { fired: [] } }\n"
        let rule = """
            - name: b
              when: { type: b }   # why

              then:
                - merge: { b: 1 }

            """
        let test = """
                - name: b fires
                  given: { _id: b1, type: b }
                  expect:
                    fired: [b]

            """
        let text = try added(start + end)
        #expect(text == start + rule + end + test)
        #expect(errors(text) == [])
    }

    @Test func fileWithoutTestsGetsTheirs() throws {
        let text = try added("version: 1\nrules:\n  - { name: a, when: {}, then: [{ merge: { a: 1 } }] }\n")
        #expect(errors(text) == [] && text.contains("\n\ntests:\n  - name: b fires\n"))
    }

    @Test(arguments: ["", "\n\n", "# only a comment\n", "\u{FEFF}# with a mark"])
    func emptyFileIsReplaced(_ text: String) throws { #expect(try added(text) == Self.other) }

    /// Its rules may have errors, which the user is correcting.
    @Test func fileWithWrongRulesIsChanged() throws {
        #expect(try added("version: 1\nrules:\n  - nam: a\n").contains("  - name: b\n"))
    }

    // MARK: - Unchanged elements

    private static let test = "tests:\n  - name: t\n    expect: { fired: [] }\n    given:\n      note: "

    /// The end of the last test is a part of a text, although it looks like a comment or an empty line.
    @Test(
        arguments: [
            "|\n        Hello\n        # Heading\n", "|\n        Hello\n\n        # Heading\n\n",
            "|+\n        Hello\n\n",
            ">-\n        Hello\n        # Heading", "|+\n        Hello\n        # Heading\n\n",
            "\"Hello\n        # Heading\"\n", "Hello\n        world\n        # a comment\n",
        ], ["", "\n# the rules\nrules:\n  - { name: a, when: { a: 1 }, then: [{ merge: { a: 2 } }] }\n"])
    func textOfTheLastElementStays(_ note: String, _ end: String) throws {
        let rules = end.isEmpty ? "rules: [{ name: a, when: { a: 1 }, then: [{ merge: { a: 2 } }] }]\n" : ""
        let text = "version: 1\n" + rules + Self.test + note + end
        for ending in ["\n", "\r\n"] {
            let old = try YAMLText(path: "r.yaml", bytes: Array(text.replacing("\n", with: ending).utf8))
            let bytes = try RuleFileAddition(path: "r.yaml", bytes: old.bytes)
                .adding(tests: [["name: n", "given: {}", "expect: { fired: [] }"]])
            let new = try YAMLText(path: "r.yaml", bytes: bytes)
            #expect(new.elements(of: "tests").count == 2)
            #expect(new.elements(of: "tests").first?.json == old.elements(of: "tests").first?.json)
            #expect(new.member("rules")?.value.json == old.member("rules")?.value.json)
        }
    }

    @Test func commentBeforeARuleStaysWithIt() throws {
        let other = """
            version: 1
            rules:
              - name: x
                when: { type: b }
                then: [{ merge: { b: 1 } }]

              # The other one.
              - name: y
                when: { type: c }
                then: [{ merge: { b: 1 } }]

            """
        let text = "version: 1\nrules:\n- name: a\n  when: { type: a }\n  then: [{ merge: { a: 1 } }]\n"
        let bytes = try RuleFileAddition(path: "r.yaml", bytes: Array(text.utf8)).adding(rulesOf: Array(other.utf8))
        let added = String(decoding: bytes, as: UTF8.self)
        #expect(added.hasPrefix(text + "- name: x\n  when: { type: b }\n"))
        #expect(added.contains("\n\n# The other one.\n- name: y\n") && errors(added) == [])
    }

    @Test func ruleWhoseNameIsTakenGetsANumber() throws {
        let first = "version: 1\nrules:\n  - { name: b, when: { type: a }, then: [{ merge: { a: 1 } }] }\n"
        let text = try added(first)
        #expect(errors(text) == [] && text.contains("- name: b-2\n") && text.contains("fired: [b-2]"))
        #expect(text.contains("- name: b fires\n"))
        let refusal = #expect(throws: RuleFileAddition.Refusal.self) { try added(Self.other) }
        #expect(refusal?.description == "r.yaml:4:1: the file has these rules already; choose other values")
    }

    @Test func testWhoseNameIsTakenGetsANumber() throws {
        let text = try added(
            "version: 1\nrules:\n  - { name: a, when: { type: a }, then: [{ merge: { a: 1 } }] }\n"
                + "tests:\n  - { name: b fires, given: { type: a }, expect: { fired: [a] } }\n")
        #expect(errors(text) == [] && text.contains("  - name: b fires (2)\n"))
    }

    @Test func resultIsChecked() {
        let mapping =
            "version: 1\nkind: mapping\nrules:\n  - { name: a, when: { a: 1 }, then: [{ merge: { a: 2 } }] }\n"
        let other =
            "version: 1\nrules:\n  - name: b\n    when: {}\n    then: [delete: {}]\n"
            + "tests:\n  - name: t\n    before: {}\n    given: {}\n    expect: { fired: [] }\n"
        let refusal = #expect(throws: RuleFileAddition.Refusal.self) {
            try RuleFileAddition(path: "r.yaml", bytes: Array(mapping.utf8)).adding(rulesOf: Array(other.utf8))
        }
        #expect(refusal?.description.contains("would not be valid with what is added: ") == true)
        let twice = #expect(throws: RuleFileAddition.Refusal.self) {
            try RuleFileAddition(path: "r.yaml", bytes: Array(Self.other.utf8))
                .adding(tests: [["name: n", "given: { a: 1, a: 2 }", "expect: { fired: [] }"]])
        }
        #expect(twice?.description.contains("the key 'a' appears twice") == true)
    }

    /// Regression: names with escapes were not replaced.
    @Test(arguments: [
        (#""a\u202eb\"""#, #""a\u202eb\" (2)""#), ("'it''s'", "it's (2)"), ("'a: b'", #""a: b (2)""#),
        ("plain", "plain (2)"),
    ]) func takenNameIsReplacedHoweverItIsWritten(_ name: String, _ new: String) throws {
        let rule = "version: 1\nrules:\n  - { name: NAME, when: {}, then: [{ merge: { a: 1 } }] }\ntests:\n"
        func file(_ rule: String, _ number: Int) -> String {
            rule + "  - name: \(name)\n    given: { n: \(number) }\n    expect: { deleted: false }\n"
        }
        let bytes = try RuleFileAddition(path: "r.yaml", bytes: Array(file(rule, 1).utf8))
            .adding(rulesOf: Array(file(rule.replacing("NAME", with: "other"), 2).utf8))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("  - name: \(name)\n") && text.contains("  - name: \(new)\n"), "\(text)")
    }

    @Test func listWithoutElementsGetsItsFirst() throws {
        let text =
            "version: 1\nrules:\n  - { name: a, when: {}, then: [{ merge: { a: 1 } }] }\ntests:\n    # none yet\n"
        #expect(errors(try added(text)) == [])
    }

    @Test(arguments: [
        ("rules: [\n", "r.yaml", "r.yaml:2:1: "),
        ("version: 1\nrules: []\n", "r.yaml", "r.yaml:2:8: 'rules' must be a list"),
        ("version: 1\nrules: [{ name: a }]\n", "r.yaml", "r.yaml:2:8: "),
        (#"{"version":1,"rules":[]}"#, "r.json", "r.json:1:1: "),
        ("- a\n", "r.yaml", "r.yaml:1:1: rules and tests can be added only to a YAML object"),
    ]) func otherFilesAreRefused(_ text: String, _ path: String, _ message: String) throws {
        let refusal = #expect(throws: RuleFileAddition.Refusal.self) { try added(text, path: path) }
        #expect(refusal?.description.hasPrefix(message) == true, "\(refusal?.description ?? "")")
    }
}

/// Tests that expect what the rules do now.
@Suite(.limitedParallelism) struct RecordedTestTests {
    private let rules = """
        version: 1
        rules:
          - { name: set, when: { type: task }, then: [{ merge: { n: 1.50 } }] }
          - { name: bury, when: { type: old }, then: [{ delete: true }] }
          - { name: fail, when: { type: bad }, then: [{ merge: { x: { jq: error } } }] }
          - { name: enter, when: { done: true }, on: [enter], then: [{ put: { id: other, document: { a: "b: c" } } }] }
          - { name: later, when: { due: { $exists: true } }, at: .due, then: [{ merge: { late: true } }] }

        """

    /// A recorded test passes, whatever the document is.
    @Test(arguments: [
        (#"{"_id":"a","type":"task"}"#, ""), (#"{"_id":"a","type":"old"}"#, ""), (#"{"_id":"a","type":"bad"}"#, ""),
        (#"{"_id":"a","done":true}"#, #"{"_id":"a"}"#), (#"{"_id":"a","done":true}"#, #"{"_id":"a","done":true}"#),
        (#"{"_id":"a","due":"2020-01-01T00:00:00Z"}"#, ""), (#"{"_id":"a","due":"2040-01-01T00:00:00Z"}"#, ""),
        (#"{}"#, ""), (#"{"_id":"it's: \"x\"\n# 1","yes":"no","1":[null,{},[]],"\ud83c\udf4e":1e3}"#, ""),
    ]) func recordedTestPasses(_ document: String, _ before: String) async throws {
        let set = try ruleSet(rules)
        let now = 1_800_000_000
        let given = try JSONText(document)
        let earlier = before.isEmpty ? nil : try JSONText(before)
        var lastSeen: [String: LastSeen] = [:]
        if let earlier { lastSeen = await set.lastSeen(of: earlier, now: now) }
        let decision = try #require(
            await set.makeDecider().decide(on: [DecisionInput(given, lastSeen: lastSeen)], now: now).first)
        let report = DecisionReport(given, decision, names: set.names)
        #expect(set.usesTime)
        let test = try RecordedTest(report, named: nil, before: earlier, now: now)
        let text = String(
            decoding: try RuleFileAddition(path: "r.yaml", bytes: Array(rules.utf8)).adding(tests: [test.lines]),
            as: UTF8.self)
        let read = RuleFileSet.read(path: "r.yaml", bytes: Array(text.utf8), attachments: .nowhere)
        #expect(read.errors == [])
        // Another time than the recorded one.
        let results = await read.set.runTests(now: 0)
        #expect(results.count == 1 && results.allSatisfy(\.hasPassed), "\(text)\(results)")
        #expect(read.set.testedDocuments.first?.given.root.isEquivalent(to: given.root) == true)
    }

    /// Regression: the test expected any error. Another failure of the rules passed.
    @Test func recordedFailureExpectsItsMessage() async throws {
        let given = try JSONText(#"{"_id":"a","type":"bad"}"#)
        let set = try ruleSet(rules)
        let decision = try #require(await set.makeDecider().decide(on: [DecisionInput(given)], now: 0).first)
        let test = try RecordedTest(
            DecisionReport(given, decision, names: set.names), named: nil, before: nil, now: nil)
        let message = try #require(decision.error?.description)
        #expect(message.hasPrefix("rule 'fail': "))
        #expect(test.lines.last == "expect: { error: \(FlowText.quoted(message)) }")
        let other = rules.replacing("{ jq: error }", with: "{ jq: '1 + {}' }")
        let text = String(
            decoding: try RuleFileAddition(path: "r.yaml", bytes: Array(other.utf8)).adding(tests: [test.lines]),
            as: UTF8.self)
        let results = try await fileSet(text).runTests(now: 0)
        #expect(results.map(\.hasPassed) == [false], "\(results)")
    }

    /// The folder of the rules is not a part of the expected message.
    @Test func recordedFailureHasNoPath() async throws {
        let given = try JSONText(#"{"_id":"a"}"#)
        let set = try ruleSet(rules)
        var decision = Decision(given)
        decision.status = .failed(
            DecisionError(rule: "picture", reason: "'/folder/none.png' does not exist; correct it"))
        let test = try RecordedTest(
            DecisionReport(given, decision, names: set.names), named: nil, before: nil, now: nil)
        #expect(test.lines.last == #"expect: { error: " does not exist; correct it" }"#)
    }

    @Test func documentThatIsTooLongIsNotRecorded() throws {
        let set = try ruleSet(rules)
        let given = try JSONText(#"{"a":"\#(String(repeating: "x", count: RecordedTest.lengthLimit))"}"#)
        let report = DecisionReport(given, Decision(given), names: set.names)
        let refusal = #expect(throws: RecordedTest.Refusal.self) {
            try RecordedTest(report, named: nil, before: nil, now: nil)
        }
        #expect(refusal?.description.contains("too large for a test") == true)
    }
}
