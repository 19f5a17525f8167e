import Testing

@testable import Rules

@Suite struct RuleComparisonTests {
    @Test(arguments: [
        (
            ["name: a, when: {t: 1, s: 2}, then: []", "name: b, when: {s: 2, t: 1}, then: []"],
            "r.yaml:4:3: warning: rule 'b': it is a duplicate of 'a' (r.yaml:3); remove one of the two"
        ),
        (
            ["name: a, when: {t: 1}, then: [{delete: {}}]", "name: b, when: {t: 1, s: 2}, then: []"],
            "r.yaml:4:3: warning: rule 'b': it never fires: 'a' (r.yaml:3) comes first and deletes all its documents"
        ),
        (
            [
                "name: a, when: {t: 1, s: {$exists: false}}, then: [{merge: {s: x}}]",
                "name: b, when: {t: 1, s: {$exists: false}}, then: [{put: {id: x, document: {}}}]",
            ],
            "rule 'b': it never fires: 'a' (r.yaml:3) comes first and changes the document so that its selectors no "
                + "longer hold"
        ),
        (
            [
                "name: a, when: {t: 1, s: {$ne: x}}, then: [{merge: {s: x}}]",
                "name: b, when: {t: 1, s: {$ne: y}}, then: [{merge: {s: y}}]",
            ], "undo each other at 's'"
        ),
        (
            [
                "name: a, when: {t: 1, s: x}, then: [{merge: {s: y}}]",
                "name: b, when: {t: 1, s: y}, then: [{merge: {s: x}}]",
            ],
            "r.yaml:4:34: warning: rule 'b': it and 'a' (r.yaml:3) undo each other at 's' in an endless rule loop"
        ),
        (
            [
                "name: a, when: {t: 1}, unless: {s: x}, then: [{merge: {s: x}}]",
                "name: b, when: {t: 1, s: x}, then: [{merge: {s: null}}]",
            ], "undo each other at 's'"
        ),
        (
            [
                "name: a, when: {_attachments.i: {$exists: false}}, then: [{attach: {name: i, file: FILE}}]",
                "name: b, when: {_attachments.i: {$exists: true}}, then: [{detach: i}]",
            ], "undo each other at '_attachments.i'"
        ),
    ])
    func conflictingRulesAreReported(rules: [String], warning: String) throws {
        let found = try warnings(rules)
        #expect(found.count == 1 && found.allSatisfy { $0.contains(warning) }, "\(found)")
    }

    @Test(arguments: [
        // The same selector with different actions.
        ["name: a, when: {t: 1}, then: []", "name: b, when: {t: 1}, then: [{put: {id: x, document: {}}}]"],
        ["name: a, when: {t: 1}, then: []", "name: b, when: {t: 1}, if: .x, then: []"],
        ["name: a, when: {t: 1}, then: []", "name: b, when: {t: 1}, unless: {s: 1}, then: []"],
        // The earlier rule does not always fire.
        ["name: a, when: {t: 1, s: 2}, then: [{delete: {}}]", "name: b, when: {t: 1}, then: []"],
        ["name: a, when: {t: 1}, if: .x, then: [{delete: {}}]", "name: b, when: {t: 1, s: 2}, then: []"],
        ["name: a, when: {t: 1}, unless: {s: 2}, then: [{delete: {}}]", "name: b, when: {t: 1, s: 2}, then: []"],
        [
            "name: a, on: [delete], when: {_id: x}, then: [{put: {id: x, document: {}}}]",
            "name: b, when: {_id: x}, then: []",
        ],
        // A rule between them makes the later one's selector true.
        [
            "name: a, when: {s: done}, then: [{delete: {}}]",
            "name: b, when: {n: 1, s: {$ne: done}}, then: [{merge: {s: done}}]",
            "name: c, when: {s: done, t: 1}, then: []",
        ],
        // Different documents.
        [
            "name: a, when: {t: 1, s: {$exists: false}}, then: [{merge: {s: x}}]",
            "name: b, when: {t: 2, s: {$exists: false}}, then: [{merge: {s: y}}]",
        ],
        // A finite chain of steps.
        [
            "name: a, when: {t: 1, s: x}, then: [{merge: {s: y}}]",
            "name: b, when: {t: 1, s: y}, then: [{merge: {s: z}}]",
        ],
        // Both set the same value.
        [
            "name: a, when: {t: 1, s: {$exists: false}, n: 1}, then: [{merge: {s: x}}]",
            "name: b, when: {t: 1, s: {$exists: false}, n: 2}, then: [{merge: {s: x}}]",
        ],
    ])
    func compatibleRulesAreAccepted(rules: [String]) throws {
        #expect(try warnings(rules) == [])
    }
}
