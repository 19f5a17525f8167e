import Testing

@testable import Rules

@Suite struct RuleTestTests {
    private static let rules = """
        version: 1
        rules:
          - name: mark
            when: { type: task }
            then: [{ merge: { seen: true } }]
          - name: summary
            when: { type: list }
            then: [{ put: { id: s, document: { n: 1 } } }, { detach: image }]
          - name: gone
            when: { type: old }
            then: [delete: {}]
          - name: broken
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
        tests:

        """

    private func results(_ test: String) async throws -> [RuleTestResult] {
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array((Self.rules + test).utf8), shared: shared)
        try #require(file.errors.isEmpty, "\(file.errors)")
        return await RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
            .runTests(now: 0)
    }

    @Test(arguments: [
        "given: {type: task}, expect: {fired: [mark], document: {seen: true, type: task}, deleted: false, effects: []}",
        "given: {type: task}, expect: {patch: [{op: add, path: /seen, value: true}], attachments: {}}",
        "given: {type: task, _rev: 1-a, _attachments: {i: {}}}, expect: {document: {type: task, seen: true}}",
        "given: {type: task, _attachments: {i: {}}}, expect: {document: {type: task, seen: true, _attachments: {i: {}}}}",
        "given: {type: other}, expect: {fired: []}",
        "given: {type: list}, expect: {effects: [{action: put, id: s, document: {n: 1.0, _id: s}}]}",
        "given: {type: list, _attachments: {image: {}}}, expect: {effects: [{rule: summary}, {action: detach, name: image}]}",
        "given: {_id: x, type: old}, expect: {deleted: true, patch: []}",
        "given: {type: broken}, expect: {error: does not exist}",
        "given: {type: broken}, expect: {error: true}",
        "given: {_id: x, _deleted: true, type: task}, expect: {fired: []}",
    ])
    func testsPass(test: String) async throws {
        let results = try await results("  - {name: t, \(test)}\n")
        #expect(results.map(\.hasPassed) == [true], "\(results)")
    }

    @Test(arguments: [
        ("given: {type: task}, expect: {fired: []}", "fired", [], ["mark"]),
        ("given: {type: task}, expect: {deleted: true}", "deleted", ["true"], ["false"]),
        ("given: {type: task}, expect: {error: x}", "error", ["a failure whose message contains: x"], ["no failure"]),
        ("given: {type: task}, expect: {error: true}", "error", ["a failure"], ["no failure"]),
        (
            "given: {type: list}, expect: {error: none of this}", "error",
            ["a failure whose message contains: none of this"], ["no failure"]
        ),
        ("given: {type: task}, expect: {attachments: {image: {length: 3}}}", "attachments", ["image: 3 bytes"], []),
    ])
    func testsFail(test: String, what: String, expected: [String], actual: [String]) async throws {
        let results = try await results("  - {name: t, \(test)}\n")
        let mismatches = try #require(results.first).mismatches
        #expect(mismatches.map(\.what) == [what])
        #expect(mismatches.first?.expected == expected)
        #expect(mismatches.first?.actual == actual)
    }

    /// Members that are not compared do not look like differences.
    @Test func differenceOfEffectsHasOnlyTheNamedMembers() async throws {
        let test = "given: {type: list}, expect: {effects: [{action: put, id: other, document: {n: 1}}]}"
        let mismatch = try #require(try await results("  - {name: t, \(test)}\n").first?.mismatches.first)
        #expect(mismatch.isPartial)
        #expect(mismatch.expected.filter { !mismatch.actual.contains($0) } == [#"    "id": "other","#])
        #expect(mismatch.actual.filter { !mismatch.expected.contains($0) } == [#"    "id": "s","#])
    }

    @Test func differenceOfEffectsHasAdditionalEffectsWhole() async throws {
        let test = "given: {type: list, _attachments: {image: {}}}, expect: {effects: [{id: s}]}"
        let mismatch = try #require(try await results("  - {name: t, \(test)}\n").first?.mismatches.first)
        #expect(mismatch.actual.contains { $0.contains("detach") } && !mismatch.actual.contains { $0.contains("put") })
    }

    @Test(arguments: [
        "given: {type: task}, expect: {document: {type: task}}", "given: {type: task}, expect: {patch: []}",
        "given: {type: list}, expect: {effects: []}", "given: {type: list}, expect: {effects: [{id: other}]}",
        "given: {type: broken}, expect: {fired: []}",
    ])
    func mismatchIsShown(test: String) async throws {
        let results = try await results("  - {name: t, \(test)}\n")
        let mismatches = try #require(results.first).mismatches
        #expect(mismatches.count == 1 && mismatches.allSatisfy { $0.expected != $0.actual })
    }

    @Test(arguments: [
        ("[x]", "1:14: a test must be an object"),
        ("[{given: {}, expect: {}}]", "'name' is missing; say what the test shows"),
        ("[{name: a, expect: {}}]", "'given' is missing"), ("[{name: a, given: {}}]", "'expect' is missing"),
        ("[{name: a, given: [], expect: {}}]", "'given' must be a document, not a list"),
        ("[{name: a, given: {}, expect: {fire: []}}]", "'fire' is not known to this version: did you mean 'fired'?"),
        ("[{name: a, given: {}, expect: {fired: a}}]", "'fired' must be a list of rule names; write fired: [a]"),
        ("[{name: a, given: {}, expect: {}}]", "3:38: 'expect' is empty, so the test checks nothing; say what"),
        (
            "[{name: a, before: {_id: t1}, given: {_id: t2}, expect: {error: x}}]",
            "'before' and 'given' have different _ids; write the same document, as it was before"
        ),
        ("[{name: a, given: {}, now: later, expect: {}}]", "'now' must be a time such as 2026-11-20T10:00:00Z"),
        ("[{name: a, given: {}, expect: {document: 1}}]", "'document' must be an object, not a number"),
        ("[{name: a, given: {}, expect: {patch: {}}}]", "'patch' must be a list (a JSON Patch), not an object"),
        ("[{name: a, given: {}, expect: {deleted: 1}}]", "'deleted' must be true or false"),
        ("[{name: a, given: {}, expect: {error: 1}}]", "'error' must be part of the message"),
        ("[{name: a, given: {}, expect: {attachments: []}}]", "'attachments' must be an object"),
        ("[{name: a, given: {}, expect: {attachments: {i: {file: none.png}}}}]", "'none.png' does not exist"),
        ("[{name: a, given: {}, expect: {attachments: {i: {length: x}}}}]", "'length' must be a number of bytes"),
    ])
    func invalidTestsAreErrors(tests: String, message: String) {
        let found = errors("version: 1\nrules: []\ntests: \(tests)\n")
        #expect(found.contains { $0.contains(message.replacing("1:14", with: "3:9")) }, "\(found)")
    }

    @Test(arguments: [
        (
            "fired: [apple, piture]",
            "there is no rule 'piture' in this file: did you mean 'picture'? Rules: picture, apple"
        ),
        ("fired: [Apple]", "there is no rule 'Apple' in this file: did you mean 'apple'? Rules: "),
        ("fired: [none]", "r.yaml:4:60: there is no rule 'none' in this file; rules: picture, apple"),
        ("effects: [{rule: aple, action: put}]", "there is no rule 'aple' in this file: did you mean 'apple'?"),
    ])
    func misspeltRuleNameOfATestIsAnError(expectation: String, message: String) {
        let rules = "rules: [{name: picture, when: {}, then: []}, {name: apple, when: {}, then: []}]"
        let found = errors(
            "version: 1\n\(rules)\ntests:\n- {name: t, given: {_id: t1, type: task}, expect: {\(expectation)}}\n")
        #expect(found.count == 1 && found[0].contains(message), "\(found)")
    }
}
