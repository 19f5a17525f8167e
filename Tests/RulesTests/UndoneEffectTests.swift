import Testing

@testable import Rules

/// Puts that undo what another rule does to the same documents.
@Suite struct UndoneEffectTests {
    private static let put =
        "name: a, when: {type: list}, then: [{put: {id: {jq: '.id'}, if_exists: replace, document: DOC}}]"

    private static func rules(_ document: String, _ other: String, ifExists: String = "replace") -> [String] {
        [
            put.replacing("DOC", with: document).replacing("if_exists: replace", with: "if_exists: \(ifExists)"),
            "name: b, " + other,
        ]
    }

    @Test(arguments: [
        ("{type: sum}", "when: {type: sum, at: {$exists: false}}, then: [{merge: {at: {jq: $now}}}]", "'at'"),
        (
            "{type: sum, n: {jq: .n}}", "when: {type: sum}, unless: {state: open}, then: [{merge: {state: open}}]",
            "'state'"
        ),
        (
            "{type: sum}", "when: {type: sum, at: {$exists: false}}, then: [{merge: {jq: '{at: ($now | todate)}'}}]",
            "'at'"
        ),
        ("{type: sum, state: new}", "when: {type: sum, state: new}, then: [{merge: {state: seen}}]", "'state'"),
        ("{type: sum, old: 1}", "when: {type: sum, old: {$exists: true}}, then: [{merge: {old: null}}]", "'old'"),
        (
            "{type: sum, box: {a: 1}}", "when: {type: sum, box.b: {$exists: false}}, then: [{merge: {box: {b: 2}}}]",
            "'box.b'"
        ),
        (
            "{type: sum}", "when: {type: sum, x: {$exists: false}}, then: [{patch: [{op: add, path: /x, value: 1}]}]",
            "'x'"
        ),
    ])
    func replacementThatUndoesAnEffectIsReported(document: String, other: String, name: String) throws {
        let found = try warnings(Self.rules(document, other))
        #expect(found.count == 1, "\(found)")
        #expect(
            found.allSatisfy {
                $0.hasPrefix("r.yaml:3:") && $0.contains("what 'b' (r.yaml:4) does to \(name)")
                    && $0.hasSuffix("[undone-effect]")
            }, "\(found)")
    }

    @Test func mergeThatUndoesAnEffectIsReported() throws {
        let other = "when: {type: sum, state: new}, then: [{merge: {state: seen}}]"
        #expect(try warnings(Self.rules("{type: sum, state: new}", other, ifExists: "merge")).count == 1)
        let added = "when: {type: sum, at: {$exists: false}}, then: [{merge: {at: 1}}]"
        #expect(try warnings(Self.rules("{type: sum}", added, ifExists: "merge")) == [])
        #expect(try warnings(Self.rules("{type: sum}", added, ifExists: "keep")) == [])
    }

    @Test(arguments: [
        // Other documents.
        ("{type: sum}", "when: {type: task, at: {$exists: false}}, then: [{merge: {at: 1}}]"),
        // The put's document already contains the rule's effect.
        ("{type: sum, at: {jq: $now}}", "when: {type: sum, at: {$exists: false}}, then: [{merge: {at: 1}}]"),
        // The document is computed, so its content is unknown.
        ("{type: {jq: .kind}}", "when: {type: sum, at: {$exists: false}}, then: [{merge: {at: 1}}]"),
        ("{jq: '{type: \"sum\"}'}", "when: {type: sum, at: {$exists: false}}, then: [{merge: {at: 1}}]"),
        // Attachments stay.
        ("{type: sum}", "when: {type: sum, _attachments.i: {$exists: false}}, then: [{attach: {name: i, file: FILE}}]"),
        ("{type: sum}", "on: [delete], when: {_id: x}, then: []"),
    ])
    func otherReplacementsAreAccepted(document: String, other: String) throws {
        #expect(try warnings(Self.rules(document, other)) == [])
    }

    @Test(arguments: [
        ("{a: .b, \"c\": 1, d, $e, (.f): 2}", ["a", "c", "d", "e"]), ("{a: {b: 1}, c: [1, 2]}", ["a", "c"]),
        ("{a: 1} + {b: 2}", []), ("{a: 1} | .a", []), (".a", []), ("{}", []), ("{a: 1", []),
    ])
    func namesOfConstructedObjectsAreFound(program: String, names: [String]) {
        #expect(ConstructedObject.names(program) == names)
    }
}
