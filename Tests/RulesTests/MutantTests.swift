import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct MutantTests {
    private func yaml(_ rule: String, _ tests: [String]) -> String {
        let list = tests.map { "  - { name: t, \($0) }\n" }.joined()
        return "version: 1\nrules:\n  - { name: a, \(rule) }\ntests:\(list.isEmpty ? " []\n" : "\n" + list)"
    }

    /// The changes that no test notices.
    private func survivors(_ rule: String, _ tests: [String]) async throws -> [String] {
        try await fileSet(yaml(rule, tests)).runMutants(now: 0).survivors.map(\.change)
    }

    /// All changes, before any test runs.
    private func changes(_ rule: String) throws -> [String] {
        FileMutants(try fileSet(yaml(rule, [])).files[0], now: 0).candidates.map(\.mutation.change)
    }

    @Test(arguments: [
        ("when: { a: 1 }, then: []", ["without `a: { $eq: 1 }`", "`a: { $eq: 1 }` negated"]),
        (
            "when: { a: { $gt: 5 } }, then: []",
            ["without `a: { $gt: 5 }`", "`a: { $gt: 5 }` negated", "`a: { $gt: 5 }` with 4", "`a: { $gt: 5 }` with 6"]
        ),
        (
            "when: { a: { $lt: x } }, then: []",
            [#"without `a: { $lt: "x" }`"#, #"`a: { $lt: "x" }` negated"#, #"`a: { $lt: "x" }` with $lte"#]
        ),
        (
            "when: { a: { $in: [x, y] } }, then: []",
            [
                #"without `a: { $in: ["x", "y"] }`"#, #"`a: { $in: ["x", "y"] }` negated"#,
                #"`a: { $in: ["x", "y"] }` without x"#, #"`a: { $in: ["x", "y"] }` without y"#,
            ]
        ),
        (
            "when: { a: { $regex: '(?i)^x$' } }, then: []",
            [
                #"without `a: { $regex: "(?i)^x$" }`"#, #"`a: { $regex: "(?i)^x$" }` negated"#,
                #"`a: { $regex: "(?i)^x$" }` without (?i)"#, #"`a: { $regex: "(?i)^x$" }` without ^"#,
                #"`a: { $regex: "(?i)^x$" }` without $"#,
            ]
        ),
        (
            "when: { a: { $regex: '^(x|y)$' } }, then: []",
            [
                #"without `a: { $regex: "^(x|y)$" }`"#, #"`a: { $regex: "^(x|y)$" }` negated"#,
                #"`a: { $regex: "^(x|y)$" }` without ^"#, #"`a: { $regex: "^(x|y)$" }` without $"#,
                #"`a: { $regex: "^(x|y)$" }` without x"#, #"`a: { $regex: "^(x|y)$" }` without y"#,
            ]
        ),
        ("when: {}, then: [delete: {}]", ["without the action delete"]),
        (
            "when: {}, then: [merge: { b: 1, c: x }]",
            [
                "without the action merge", "without `b`", "`2` instead of `1`", "without `c`", "`xx` instead of `x`",
            ]
        ),
        ("when: {}, if: .a, then: []", ["without `if`", "`if` negated"]),
        ("when: {}, on: [change, delete], then: []", ["`on` without change", "`on` without delete"]),
    ])
    func rulesAreChangedInSmallWays(rule: String, expected: [String]) throws {
        #expect(Set(try changes(rule)) == Set(expected))
    }

    @Test func everyPartOfANestedSelectorIsLeftOut() throws {
        let found = try changes(
            "when: { $or: [{ a: 1 }, b: { $not: { c: 2 } }], d: { $elemMatch: { $eq: 3 } } }, then: []")
        for part in ["a: { $eq: 1 }", "b.c: { $ne: 2 }", "d: { $elemMatch: { $eq: 3 } }"] {
            #expect(found.contains("without `\(part)`") && found.contains("`\(part)` negated"), "\(found)")
        }
    }

    /// The condition is implied by another one.
    @Test func changesWithoutEffectAreNotMade() throws {
        let found = try changes("when: { a: 1, $and: [{ a: { $exists: true } }] }, then: []")
        #expect(!found.contains("without `a: { $exists: true }`") && found.contains("without `a: { $eq: 1 }`"))
    }

    /// Without `on`, the rule would also fire for a document that already matched.
    @Test func earlierDocumentsAreTriedForRulesWithEnter() async throws {
        let text = yaml(
            "when: { a: 1 }, on: [enter], then: [emit: { file: e.ndjson }]",
            [
                "given: { _id: x, a: 1 }, expect: { fired: [a] }", "given: { _id: x, a: 2 }, expect: { fired: [] }",
            ])
        let mutant = try #require(
            try await fileSet(text).runMutants(now: 0).survivors.first { $0.change == "without `on`" })
        #expect(
            mutant.missingTest?.contains { $0.hasPrefix("before: ") } == true,
            "\(String(describing: mutant.difference))")
    }

    /// A rule that fails is wrong: no test should say that this is right.
    @Test func failuresAreNotExpected() async throws {
        let text = yaml(
            "when: { a: { $in: [x, y] } }, if: '(.a | if . == \"y\" then error(\"no\") else . end) == \"x\"', then: [merge: { b: 1 }]",
            [
                "given: { a: x }, expect: { fired: [a] }", "given: { a: z }, expect: { fired: [] }",
            ])
        let failing = try await fileSet(text).runMutants(now: 0).survivors.filter { $0.difference?.isFailure == true }
        #expect(!failing.isEmpty && failing.allSatisfy { $0.missingTest == nil })
    }

    @Test func completeTestsNoticeEveryChange() async throws {
        let tests = [
            "given: { type: task, n: 5 }, expect: { patch: [{ op: add, path: /m, value: 1 }] }",
            "given: { type: task, n: 4 }, expect: { fired: [] }",
            "given: { type: task, n: 6 }, expect: { fired: [a] }",
            "given: { type: list, n: 5 }, expect: { fired: [] }",
            "given: { type: task, n: 5, keep: true }, expect: { fired: [] }",
        ]
        let rule = "when: { type: task, n: { $gte: 5 } }, unless: { keep: true }, then: [merge: { m: 1 }]"
        #expect(try await survivors(rule, tests) == [])
        for index in tests.indices where index != 2 {
            var fewer = tests
            fewer.remove(at: index)
            #expect(try await survivors(rule, fewer) != [], "\(tests[index])")
        }
    }

    @Test(arguments: [
        ("when: { a: { $gte: 5 } }, then: []", "given: { a: 7 }, expect: { fired: [a] }"),
        ("when: { a: 1 }, unless: { b: x }, then: []", "given: { a: 1 }, expect: { fired: [a] }"),
        ("when: { a: { $regex: '(?i)^x$' } }, then: []", "given: { a: x }, expect: { fired: [a] }"),
        (
            "when: { a: { $regex: '^(tea|milk|[0-9]{2} cups)$' } }, then: []",
            "given: { a: tea }, expect: { fired: [a] }"
        ),
        ("when: { a: 1 }, then: [merge: { b: 1 }, merge: { c: 2 }]", "given: { a: 1 }, expect: { fired: [a] }"),
        ("when: { a: 1 }, if: '.b == 1', then: []", "given: { a: 1, b: 1 }, expect: { fired: [a] }"),
        ("when: { a: 1 }, at: .due, then: [delete: {}]", "given: { a: 1, due: 0 }, expect: { deleted: true }"),
        (
            "when: { a: 1 }, on: [enter, leave], then: [emit: { file: e.ndjson }]",
            "before: { _id: x, a: 2 }, given: { _id: x, a: 1 }, expect: { fired: [a] }"
        ),
        (
            "when: { a: 1 }, changed: [b, c], then: [emit: { file: e.ndjson }]",
            "before: { _id: x, a: 1, b: 1 }, given: { _id: x, a: 1, b: 2 }, expect: { fired: [a] }"
        ),
    ])
    func missingTestsNoticeTheChanges(rule: String, test: String) async throws {
        let text = yaml(rule, [test])
        let before = try await fileSet(text).runMutants(now: 0)
        #expect(!before.untested.isEmpty && before.untested.count == before.survivors.count, "\(before.survivors)")
        let tests = before.survivors.compactMap(\.difference?.test)
        let bytes = try RuleFileAddition(path: "r.yaml", bytes: Array(text.utf8)).adding(tests: tests)
        let after = try fileSet(String(decoding: bytes, as: UTF8.self))
        #expect(await after.runTests(now: 0).allSatisfy(\.hasPassed))
        let left = await after.runMutants(now: 0).survivors
        #expect(left.isEmpty, "\(left)")
    }

    @Test(
        arguments: [
            ("a|b", ["b", "a"], ["a", "b"]),
            ("(?i)^(a|b|)$", ["(?i)^(b|)$", "(?i)^(a|)$", "(?i)^(a|b)$"], ["a", "b", ""]),
            ("(a|b)(c|d)", ["(b)(c|d)", "(a)(c|d)", "(a|b)(d)", "(a|b)(c)"], ["ac", "bc", "ac", "ad"]),
            (
                #"[|](a\|b)\Q|\E(?:x|\d+)"#, [#"[|](a\|b)\Q|\E(?:\d+)"#, #"[|](a\|b)\Q|\E(?:x)"#],
                ["|a|bQ|Ex", "|a|bQ|E0"]
            ),
            ("(?=a|b)c", ["(?=b)c", "(?=a)c"], []), ("abc", [], []), ("(?(1)a|b)", [], []),
            (#"^\d{4}-(Z|[+-]\d\d)$"#, [#"^\d{4}-([+-]\d\d)$"#, #"^\d{4}-(Z)$"#], ["0000-Z", "0000-+00"]),
        ] as [(String, [String], [String])])
    func alternativesAreLeftOut(pattern: String, shorter: [String], examples: [String]) {
        let alternatives = PatternAlternatives(pattern)
        #expect(alternatives.shorter.map(\.pattern) == shorter)
        if !pattern.contains("\\Q") { #expect(alternatives.examples == examples) }
    }

    /// Regression: no test had to look at the attached file.
    @Test func anotherFileIsAttached() async throws {
        try await withDirectory { folder in
            for name in ["a.png", "b.png", "c.txt"] {
                try Data(name.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            let text = yaml(
                "when: { a: 1 }, then: [attach: { name: i, file: a.png }]",
                ["given: { a: 1 }, expect: { fired: [a] }", "given: { a: 2 }, expect: { fired: [] }"])
            let path = folder + "/r.yaml"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let mutant = try #require(
                try await RuleFileSet.load(paths: [path]).runMutants(now: 0).survivors.first {
                    $0.change == "`b.png` instead of `a.png`"
                })
            #expect(mutant.missingTest?.contains { $0.contains("sha256") } == true, "\(mutant)")
        }
    }

    /// Regression: names such as "a: not `n: { $gte: 5 }` with 4" said what the mutant does.
    @Test func namesOfMissingTestsSayWhatTheyProve() async throws {
        let rule =
            "when: { type: task, n: { $gte: 5 } }, unless: { keep: true }, on: [change, delete], then: [merge: { m: 1, k: 2 }]"
        let run = try await fileSet(yaml(rule, ["given: { type: task, n: 9 }, expect: { fired: [a] }"])).runMutants(
            now: 0)
        let names = Set(run.survivors.compactMap { $0.missingTest?.first })
        for name in [
            #"a does not fire unless type: { $eq: \"task\" }"#, "a fires if n: { $gte: 5 }",
            "a does not fire if keep: { $eq: true }",
            "a: exact patch (without m)",
        ] {
            #expect(names.contains("name: \"\(name)\""), "\(names)")
        }
    }

    @Test func changeWithoutEffectHasNoDocument() async throws {
        let run = try await fileSet(
            yaml(
                "when: { a: { $regex: 'x' } }, unless: { a: { $regex: '^y$' } }, then: []",
                ["given: { a: x }, expect: { fired: [a] }", "given: { a: y }, expect: { fired: [] }"])
        ).runMutants(now: 0)
        #expect(
            run.survivors.contains { $0.difference == nil && $0.change == #"`a: { $regex: "^y$" }` without ^"# }
                == false)
        #expect(run.survivors.contains { $0.difference == nil && $0.change == #"without `a: { $regex: "^y$" }`"# })
    }

    /// Otherwise a thousand tests with a hundred rules would take minutes.
    @Test func testsThatDoNotEvaluateThePlaceDoNotRunAgain() async throws {
        let recorder = FileRecorder(
            try fileSet(yaml("when: { a: 1, b: 2 }, if: .c, then: [delete: {}]", [])).files[0])
        let rules = try ruleSet(
            "version: 1\nrules:\n  - { name: a, when: { a: 1, b: 2 }, if: .c, then: [delete: {}] }\n")
        var input = DecisionInput(try JSONText(#"{"a":1,"b":3}"#))
        input.test.recorder = recorder.rules
        let decision = try #require(await rules.makeDecider().decide(on: [input], now: 0).first)
        let reached = recorder.end(decision)
        let points = (0..<5).filter { reached.contains(CoverageRecorder.Place(rule: 0, point: $0)) }
        #expect(points == [0, 1, 2])
    }

    /// The shipped rules show how rules are tested.
    @Test(arguments: ["", "/examples", "/examples/orders", "/examples/recipes", "/maps"])
    func shippedTestsNoticeEveryChange(folder: String) async throws {
        let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let set = try RuleFileSet.load(paths: [root + "/rules" + folder], kind: nil)
        let share = await set.measureTests(now: 0).coverage.share
        #expect(share.permille == 1000, "\(share)")
        let run = await set.runMutants(now: 0)
        #expect(run.count > 50 && run.untested.isEmpty, "\(run.untested.map(\.change))")
        // `when` already requires that the text ends there.
        #expect(run.survivors.allSatisfy { $0.change.hasSuffix(#"(Z|[+-]\\d\\d:\\d\\d)$" }` without $"#) })
    }

    /// A rule without a test is not mistaken for one whose mutants have no effect.
    @Test func untestedRuleIsNoticed() async throws {
        let rule = "when: { type: task, n: { $gt: 4 }, tags: { $elemMatch: { $eq: x } } }, then: [delete: {}]"
        let run = try await fileSet(yaml(rule, ["given: { _id: a }, expect: { fired: [] }"])).runMutants(now: 0)
        #expect(run.survivors.count > 5 && run.untested.count == run.survivors.count)
        #expect(run.survivors.allSatisfy { !$0.isRuleTested && $0.difference != nil }, "\(run.survivors)")
        let none = try await fileSet(yaml("when: { a: { $regex: '^[b]$' } }, then: []", [])).runMutants(now: 0)
        #expect(none.untested.count == none.survivors.count && none.untested.count == 4)
    }

    @Test func fileWithoutTestsGetsTests() async throws {
        let text = "version: 1\nrules:\n  - { name: a, when: { type: task, n: 5 }, then: [merge: { m: 1 }] }\n"
        let run = try await fileSet(text).runMutants(now: 0)
        let tests = run.survivors.compactMap(\.difference?.test)
        #expect(run.survivors.count == run.count && tests.count == run.count, "\(run.survivors)")
        let bytes = try RuleFileAddition(path: "r.yaml", bytes: Array(text.utf8)).adding(tests: tests)
        #expect(try await fileSet(String(decoding: bytes, as: UTF8.self)).runMutants(now: 0).survivors.isEmpty)
    }

    @Test func mappingsAreChanged() async throws {
        let text = """
            version: 1
            kind: mapping
            otherwise: drop
            slurp: [users]
            rules:
              - name: task
                when: { kind: todo }
                then: [merge: { type: task, owner: { jq: '$users[0].name' } }]
            tests:
              - name: a todo becomes a task
                slurp: { users: [{ name: amy }] }
                given: { _id: t1, kind: todo }
                expect: { fired: [task] }

            """
        let run = try await fileSet(text).runMutants(now: 0)
        #expect(run.untested.count == run.survivors.count && run.count > 4)
        let tests = run.survivors.compactMap(\.difference?.test)
        let bytes = try RuleFileAddition(path: "r.yaml", bytes: Array(text.utf8)).adding(tests: tests)
        let left = try await fileSet(String(decoding: bytes, as: UTF8.self)).runMutants(now: 0).survivors
        #expect(left.isEmpty, "\(left)")
    }
}

@Suite struct TestAdditionTests {
    private let test = ["name: n", "given: { a: 1 }", "expect: { fired: [] }"]

    private func added(_ text: String, path: String = "r.yaml") throws -> String {
        String(decoding: try RuleFileAddition(path: path, bytes: Array(text.utf8)).adding(tests: [test]), as: UTF8.self)
    }

    @Test func testsAreAppendedWithTheIndentationOfTheFile() throws {
        let text = "version: 1\nrules: []\ntests:\n- name: t\n  given: {}\n  expect: { fired: [] }\n"
        #expect(try added(text) == text + "- name: n\n  given: { a: 1 }\n  expect: { fired: [] }\n")
    }

    @Test func otherLinesStay() throws {
        let start = "version: 1\ntests:\n    - name: t # one\n      given: {}\n      expect: { fired: [] }\n"
        let end = "\n# The rules.\nrules: []\n"
        #expect(
            try added(start + end)
                == start + "    - name: n\n      given: { a: 1 }\n      expect: { fired: [] }\n" + end)
    }

    @Test func takenNameGetsANumber() throws {
        let text = "version: 1\nrules: []\ntests:\n  - { name: n, given: {}, expect: { fired: [] } }\n"
        #expect(try added(text).contains("  - name: \"n (2)\"\n"))
        #expect(try added(try added(text)).contains("  - name: \"n (3)\"\n"))
    }

    @Test func fileWithoutTestsGetsAList() throws {
        let text = "version: 1\r\nrules: []"
        #expect(
            try added(text) == "version: 1\r\nrules: []\r\n\r\ntests:\r\n  - name: n\r\n    given: { a: 1 }\r\n"
                + "    expect: { fired: [] }\r\n")
    }

    @Test(arguments: [
        (
            "version: 1\nrules: []\ntests: [{ name: t, given: {}, expect: { fired: [] } }]\n", "r.yaml",
            "r.yaml:3:8: 'tests'"
        ),
        ("version: 1\nrules: []\ntests: []\n", "r.yaml", "r.yaml:3:8: 'tests' must be a list with one '- '"),
        (#"{"version":1,"rules":[]}"#, "r.json", "r.json:1:1: tests can be added only to YAML files; write them"),
    ])
    func otherFilesAreRefused(text: String, path: String, message: String) throws {
        let refusal = #expect(throws: RuleFileAddition.Refusal.self) { try added(text, path: path) }
        #expect(refusal?.description.hasPrefix(message) == true, "\(refusal?.description ?? "")")
    }

    @Test(arguments: [
        (
            #"{"_id":"t1","a":[1,{"b":null}],"c":"x y","d":"Yes","e":{},"f":[]}"#,
            #"{ _id: t1, a: [1, { b: null }], c: "x y", d: "Yes", e: {}, f: [] }"#
        ),
        (
            ##"{"@type":"a: b","":"#c","g":"-1","h":"~","i":"1e3"}"##,
            ##"{ "@type": "a: b", "": "#c", g: "-1", h: "~", i: "1e3" }"##
        ),
    ])
    func valuesAreWrittenAsFlowYAML(json: String, text: String) throws {
        try expectFlow(json, text)
    }

    /// Regression: such characters were copied. Editors took some of them for ends of lines, and others turned the
    /// direction of the text.
    @Test(arguments: [
        ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029"), ("\u{202E}", "\\u202e"), ("\u{2066}", "\\u2066"),
        ("\u{85}", "\\u0085"), ("\u{7F}", "\\u007f"), ("\u{200B}", "\\u200b"),
        ("\u{E000}", "\\ue000"), ("\u{E0041}", "\\U000e0041"), ("\u{F0000}", "\\U000f0000"),
    ])
    func invisibleCharactersAreEscaped(character: String, escape: String) throws {
        for (text, value) in [
            (character, escape), ("a\(character)", "a\(escape)"), ("a \(character)b", "a \(escape)b"),
        ] {
            try expectFlow("{\"\(text)\":[\"\(text)\"]}", "{ \"\(value)\": [\"\(value)\"] }")
            #expect(YAMLScalar.text(text) == "\"\(value)\"")
        }
        let named = try added(
            try added("version: 1\nrules: []\n", name: "a\(character)"), name: "a\(character)")
        #expect(named.contains("name: \"a\(escape)\"\n") && named.contains("name: \"a\(escape) (2)\"\n"))
    }

    private func added(_ text: String, name: String) throws -> String {
        let test = ["name: " + FlowText.quoted(name)] + test.dropFirst()
        return String(
            decoding: try RuleFileAddition(path: "r.yaml", bytes: Array(text.utf8)).adding(tests: [test]), as: UTF8.self
        )
    }

    private func expectFlow(_ json: String, _ text: String) throws {
        let value = try JSONText(json)
        #expect(FlowText.text(value.root) == text)
        let node = try #require(YAMLSource.read(text, errors: SourceErrors(path: "x")))
        #expect(node.jsonText.root.isEquivalent(to: value.root))
    }
}
