import Foundation
import Testing

@testable import Rules

/// Warnings about rules that compare documents with what they saw of them last.
@Suite struct EdgeCheckTests {
    private func codes(_ rule: String) throws -> [String] {
        let shared = RuleReading.Shared()
        let file = RuleFile(
            path: "r.yaml", bytes: Array("version: 1\nrules:\n- { name: a, \(rule) }\n".utf8), shared: shared)
        try #require(file.errors.isEmpty && shared.programs.compile().isEmpty, "\(file.errors)")
        let rules = file.rules.map { (rule: $0, prediction: RulePrediction(of: $0)) }
        return RuleChecker(rules).warnings.map { "\($0.position.line):\($0.position.column) \($0.code.rawValue)" }
    }

    @Test(arguments: [
        ("when: {address: Rome}, changed: [address.city], then: []", ["3:37 never-fires"]),
        ("when: {tags: {$elemMatch: {$eq: x}}}, changed: [tags.name], then: []", ["3:52 never-fires"]),
        ("when: {tags: {$size: 2}}, changed: [tags.name, n], then: []", []),
        ("when: {status: new}, on: [enter], then: [merge: {status: seen}]", ["3:35 ends-at-once"]),
        ("when: {status: new}, on: [enter], then: [merge: {seen: true}]", []),
        ("when: {status: new}, on: [enter, leave], then: [emit: {file: '-'}]", []),
        ("when: {type: t}, changed: [n], then: [merge: {n: {jq: .n + 1}}]", ["3:45 never-rests"]),
        ("when: {type: t}, changed: [m], then: [merge: {n: {jq: .n + 1}}]", []),
        ("when: {type: t}, changed: [m], then: [merge: {seen: true}]", []),
        ("when: {type: t}, on: [leave], then: [emit: {file: '-', line: {jq: $before.a}}]", ["3:80 nothing-remembered"]),
        ("when: {type: t}, on: [leave], remember: [a], then: [emit: {file: '-', line: {jq: $before.a}}]", []),
        (
            "when: {type: t}, changed: [n], then: [put: {id: {jq: '._id + $change.rev'}, document: {}}]",
            ["3:67 changing-id"]
        ),
        ("when: {type: t}, on: [leave], then: [put: {document: {_id: {jq: '\"\\(._rev)\"'}}}]", ["3:78 changing-id"]),
        (
            "when: {type: t}, changed: [n], then: [related: {selector: {a: 1}, then: [put: {id: {jq: $change.seq}, "
                + "document: {}}]}]", ["3:102 changing-id"]
        ),
        ("when: {type: t}, changed: [n], then: [put: {id: {jq: '._id + $change.edge'}, document: {}}]", []),
        ("when: {type: t}, then: [put: {id: {jq: '._id + $change.rev'}, document: {}}]", []),
    ])
    func mistakesAreFound(rule: String, expected: [String]) throws {
        let found = try codes(rule)
        #expect(found == expected)
    }

    /// A rule's programs read an earlier value that is never there.
    @Test(
        arguments: [
            (
                "changed: [status]", "$before.owner",
                "$before.owner is always null, because 'owner' is neither in 'changed'"
            ),
            ("changed: [status]", "$before.address.city", "$before.address.city is always null"),
            ("changed: [status]", #"$before["owner"]"#, "$before.owner is always null"),
            ("changed: [status]", #""was \($before.owner)""#, "$before.owner is always null"),
            ("on: [enter, leave], remember: [a]", "$before.b", "add it to 'remember'"),
            ("changed: [address.city]", "$before.address.zip", "add it to 'changed' or 'remember'"),
            ("on: [enter]", "$before.a", "a rule whose 'on' is only enter remembers no values"),
            ("on: [enter, leave]", "$before.a", "add remember: [NAME]"),
            ("on: [enter]", "$changed", "$changed is always empty, because the rule has no 'changed'"),
            ("changed: [status]", "$before.status", nil), ("changed: [status]", "$before | keys", nil),
            ("changed: [address]", "$before.address.city", nil), ("changed: [address.city]", "$before.address", nil),
            ("changed: [lines]", "$before.lines[0].price", nil), ("changed: [a], remember: [b]", "$before.b", nil),
            ("on: [enter]", "$before == null", nil), ("changed: [a]", "$changed", nil),
            ("changed: [a]", "{ $before, $changed }", nil), ("changed: ['a b']", #"$before."a b""#, nil),
        ] as [(String, String, String?)])
    func unrememberedValueIsFound(keys: String, program: String, part: String?) throws {
        let text =
            "version: 1\nrules:\n- name: a\n  when: { type: t }\n  "
            + keys.components(separatedBy: "], ").joined(separator: "]\n  ")
            + "\n  then:\n  - put: { id: { jq: ._id }, document: { a: { jq: '\(program)' } } }\n"
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: shared)
        try #require(file.errors.isEmpty && shared.programs.compile().isEmpty, "\(file.errors)")
        let found = EdgeCheck.warnings(CheckedRule(file.rules[0], RulePrediction(of: file.rules[0])))
        #expect(found.map(\.code) == (part == nil ? [] : [.nothingRemembered]), "\(found)")
        #expect(found.allSatisfy { part.map($0.message.contains) == true }, "\(found)")
    }

    /// About a database, so only on request.
    @Test(
        arguments: [
            ("on: [enter]", nil, true), ("on: [enter]", 12, true), ("on: [enter]", 0, false),
            ("on: [enter], first: fire", 12, false), ("on: [enter], first: learn", 12, false),
            ("on: [enter], allow: [first-look]", 12, false), ("changed: [n]", 12, false),
        ] as [(String, Int?, Bool)])
    func enteringRuleNeedsToKnowOlderDocuments(keys: String, documents: Int?, isWarned: Bool) throws {
        let file = RuleFile(
            path: "r.yaml", bytes: Array("version: 1\nrules:\n- { name: a, when: {}, \(keys), then: [] }\n".utf8))
        try #require(file.errors.isEmpty)
        let set = RuleFileSet(
            files: [file], programs: [], attached: AttachedPaths(files: [], attachedFiles: [], folders: []))
        let warnings = set.firstLookWarnings(documents: documents)
        #expect(warnings.map(\.code) == (isWarned ? [.firstLook] : []))
        #expect(warnings.allSatisfy { $0.position == SourcePosition(line: 3, column: 28) })
    }
}
