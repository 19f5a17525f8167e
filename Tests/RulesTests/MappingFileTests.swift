import Foundation
import JQ
import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct MappingFileTests {
    private static let head = "version: 1\nkind: mapping\n"

    @Test(arguments: [
        ("version: 1\nkind: rules\nrules: []\n", "r.yaml:2:7: 'kind' can only be mapping"),
        ("version: 1\nkind: 1\nrules: []\n", "'kind' can only be mapping"),
        ("version: 1\nslurp: [a]\nrules: []\n", "only mappings have 'slurp'; write 'kind: mapping', or remove it"),
        (
            head + "otherwise: skip\nrules: []\n",
            "r.yaml:3:12: 'otherwise' must be pass (the default), drop or reject, not 'skip'"
        ),
        (head + "otherwise: [drop]\nrules: []\n", "'otherwise' must be pass (the default), drop or reject, not a list"),
        ("version: 1\notherwise: drop\nrules: []\n", "r.yaml:2:12: only mappings have 'otherwise'"),
        (head + "slurp: a\nrules: []\n", "r.yaml:3:8: 'slurp' must be a list of names, not text"),
        (head + "slurp: [a, a]\nrules: []\n", "r.yaml:3:12: 'a' appears twice"),
        (head + "slurp: [now]\nrules: []\n", "a name in 'slurp' has at most 64 letters"),
        (head + "slurp: [a-b]\nrules: []\n", "a name in 'slurp' has at most 64 letters"),
        (head + "slurp: [__a]\nrules: []\n", "a name in 'slurp' has at most 64 letters"),
        (head + "slurp: ['']\nrules: []\n", "a name in 'slurp' has at most 64 letters"),
        (head + "slurp: [end]\nrules: []\n", "a name in 'slurp' has at most 64 letters"),
        (
            head + "rules:\n- {name: a, when: {}, then: [put: {id: x, document: {}, if_exists: keep}]}\n",
            "r.yaml:4:68: 'if_exists' has no meaning in a mapping"
        ),
        (
            head + "rules:\n- {name: a, when: {}, then: [put: {id: x, document: {}, keyspace: todo.a.b}]}\n",
            "'keyspace' has no meaning in a mapping"
        ),
        (
            head + "rules:\n- {name: a, when: {}, if: '$users', then: []}\n",
            "r.yaml:4:28: not a jq program: $users is not defined"
        ),
        (
            head + "slurp: [users]\nrules:\n- {name: a, when: {}, if: '$user', then: []}\n",
            "r.yaml:5:28: not a jq program: $user is not defined"
        ),
        (
            head + "rules: []\ntests: [{name: t, given: {}, slurp: {a: []}, expect: {fired: []}}]\n",
            "r.yaml:4:38: 'a' is not in the file's 'slurp' list"
        ),
        (
            head + "slurp: [a]\nrules: []\ntests: [{name: t, given: {}, slurp: {a: {}}, expect: {fired: []}}]\n",
            "'a' must be a list of documents, not an object"
        ),
        (
            head
                + "slurp: [a]\nrules: []\ntests: [{name: t, given: {}, slurp: {a: [1234567890123456789]}, expect: {fired: []}}]\n",
            "the data can't be used"
        ),
        (
            head + "rules: []\ntests: [{name: t, given: {}, slurp: [], expect: {fired: []}}]\n",
            "'slurp' must be an object with a list for each name"
        ),
        (
            "version: 1\nrules: []\ntests: [{name: t, given: {}, expect: {documents: []}}]\n",
            "'documents' is for mappings only"
        ),
        (head + "rules: []\ntests: [{name: t, given: {}, expect: {documents: {}}}]\n", "'documents' must be a list"),
    ])
    func invalidMappingFilesAreRefused(text: String, message: String) {
        let found = errors(text)
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func onlyMappingsMayWriteReservedMembers() {
        let rules = """
            rules:
              - {name: a, when: {}, then: [merge: {_id: x, _rev: null}]}
              - {name: b, when: {}, then: [patch: [{op: replace, path: "", value: {}}, {op: remove, path: /_id}]]}
              - {name: c, when: {}, then: [put: {document: {_id: x, _rev: 1-a}}]}

            """
        #expect(errors(Self.head + rules) == [])
        #expect(errors("version: 1\n" + rules).count == 5)
    }

    private func withFolder(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "maps-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files { try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8) }
        try await body(folder)
    }

    @Test func mappingsAndRuleFilesAreNotInterchangeable() async throws {
        let files = [
            "map.yaml": Self.head + "rules: [{name: a, when: {}, then: []}]\n",
            "rules.yaml": "version: 1\nrules: [{name: b, when: {}, then: []}]\n",
        ]
        try await withFolder(files) { folder in
            let wrong = #expect(throws: RuleFilesError.self) { try RuleSet.load(paths: [folder + "/map.yaml"]) }
            #expect(wrong?.kind == .invalid)
            #expect(
                wrong?.description.hasPrefix("\(folder)/map.yaml:2:7: this is a mapping, which only changebot import")
                    == true)
            let other = await #expect(throws: RuleFilesError.self) {
                try await Mapping.load(paths: [folder + "/rules.yaml"])
            }
            #expect(other?.description.contains("rules.yaml:1:1: these are rules for changes, not a mapping") == true)
            let mapping = try await Mapping.load(paths: [folder + "/map.yaml"])
            #expect(mapping.ruleSet.names == ["a"])
            // Both can be checked together, but not tried as one list.
            let both = try RuleFileSet.load(paths: [folder], kind: nil)
            #expect(both.ruleCount == 2)
            #expect(throws: RuleFilesError.self) { try both.ruleSet() }
        }
    }

    @Test func slurpedDataThatJQCannotHoldIsAnError() async throws {
        let map = Self.head + "slurp: [u]\nrules: [{name: a, when: {}, if: '$u | length > 0', then: []}]\n"
        try await withFolder(["map.yaml": map]) { folder in
            let data = Array("[\(Array(repeating: "[0,1,2]", count: 300_000).joined(separator: ","))]".utf8)
            let paths = [folder + "/map.yaml"]
            var small = JQPool.Settings()
            small.memoryLimit = 32 << 20
            let mapping = try await Mapping.load(paths: paths, slurps: ["u": data])
            #expect(mapping.ruleSet.count == 1)
            let error = await #expect(throws: RuleFilesError.self) {
                try await Mapping.load(paths: paths, slurps: ["u": data], jq: small)
            }
            #expect(error?.description.contains("the data of $u has 2400001 bytes, more than jq can load") == true)
            let deep = Array((String(repeating: "[", count: 300) + String(repeating: "]", count: 300)).utf8)
            let tooDeep = await #expect(throws: RuleFilesError.self) {
                try await Mapping.load(paths: paths, slurps: ["u": deep])
            }
            #expect(tooDeep?.description.contains("jq can't read the data of $u: it is nested") == true)
        }
    }

    @Test func mappingTestsSetDocumentsAndSlurpedData() async throws {
        let file = """
            version: 1
            kind: mapping
            slurp: [users]
            rules:
              - {name: a, when: {}, then: [put: {document: {jq: '$users[]'}}, merge: {n: 1}]}
              - {name: b, when: {none: true}, then: [merge: {_id: null}]}
            tests:
              - name: passes
                given: {_id: d}
                slurp: {users: [{_id: u, x: 1}]}
                expect:
                  fired: [a]
                  documents: [{x: 1.0, _id: u}, {n: 1, _id: d}]
                  effects: [{rule: a, action: put, id: u}, {action: document, id: d}]
              - name: nothing is slurped
                given: {_id: d}
                expect: {documents: [{_id: d, n: 1}], patch: [{op: add, path: /n, value: 1}]}
              - name: another order
                given: {_id: d}
                slurp: {users: [{_id: u}]}
                expect: {documents: [{_id: d, n: 1}, {_id: u}]}
              - name: one too many
                given: {_id: d}
                slurp: {users: [{_id: u}]}
                expect: {documents: [{_id: u}]}
              - {name: an error, given: {_id: d, none: true}, expect: {error: no '_id', documents: []}}
            """
        let results = try await ruleFileSet(file).runTests(now: 0)
        #expect(results.map { $0.mismatches.map(\.what) } == [[], [], ["documents"], ["documents"], []], "\(results)")
    }

    @Test func rulesTryShowsAllDocumentsAsEffects() async throws {
        let set = try ruleFileSet(
            Self.head + "rules: [{name: a, when: {}, then: [put: {id: x, document: {}}, merge: {_id: e}]}]\n")
        let ruleSet = try set.ruleSet()
        let decision = try await ruleSet.decided(#"{"_id":"d"}"#)
        let report = DecisionReport(decision.document, decision, names: ruleSet.names)
        var line = String(decoding: report.line(), as: UTF8.self)
        line.replace(/.*"effects":/, with: "")
        #expect(
            line
                == #"[{"rule":"a","action":"put","id":"x","document":{"_id":"x"}},"#
                + #"{"action":"document","id":"e","document":{"_id":"e"}}],"error":null}"#)
    }

    @Test func ruleWithoutAnIDIsExplainedAsFiring() async throws {
        let rules =
            "rules: [{name: a, when: {}, then: [merge: {n: 1}]}, {name: b, when: {}, then: [merge: {jq: '7'}]}]\n"
        let input = DecisionInput(try JSONText(#"{"id":"d"}"#))
        let explanations = await (try ruleFileSet(Self.head + rules).ruleSet()).explain(input, now: 0).rules
        #expect(explanations.map(\.outcome) == [.fires, .undecided])
    }

    @Test(arguments: [
        ("- {name: a, when: {x: 1}, then: [merge: {y: 1}]}", 0),
        ("- {name: a, when: {x: 1}, then: [merge: {y: 1}]}\n- {name: b, when: {x: 1}, then: [merge: {y: 2}]}", 0),
        ("- {name: a, on: [delete], when: {x: 1}, then: [merge: {_deleted: null}]}", 0),
        // Errors of rules of any kind.
        ("- {name: a, when: {x: 1}, then: [delete: {}]}\n- {name: b, when: {x: 1}, then: []}", 1),
        ("- {name: a, when: {x: {$type: int}}, then: []}", 1),
        // An id that another rule may have given.
        ("- {name: a, when: {}, then: [merge: {jq: '{_id: .id}'}]}\n- {name: b, when: {_id: x}, then: []}", 0),
    ])
    func warningsAssumeOnePass(rules: String, count: Int) throws {
        let warnings = try ruleFileSet(Self.head + "rules:\n" + rules).warnings()
        #expect(warnings.count == count, "\(warnings.map(\.description))")
    }
}
