import Testing

@testable import Rules

/// Warnings of `rules check` about actions and programs.
@Suite struct ActionCheckTests {
    private func messages(_ rule: String) throws -> [String] {
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nrules:\n  - {\(rule)}\n".utf8), shared: shared)
        try #require(file.errors.isEmpty, "\(file.errors)")
        return file.rules.flatMap(ActionCheck.warnings).map(\.description)
    }

    @Test(arguments: [
        (
            "when: {}, then: [patch: [{op: remove, path: /_attachments/a}]]",
            "3:32: warning: rule 'a': the patch removes an"
        ),
        ("when: {}, on: [delete], then: [merge: {a: 1}]", "would write to a deleted document"),
        (
            "when: {}, on: [delete], then: [related: {selector: {a: {jq: .owner}}, then: [delete: {}]}]",
            "'owner' only if the deletion writes it (and never on Sync Gateway 4), and without it nothing is related"
        ),
        (
            "when: {}, then: [related: {selector: {a: 1}, then: [merge: {a: $source.b}]}]",
            "'$source.b' is plain text, not a program"
        ),
        (
            "when: {}, on: [delete], then: [{webhook: {url: 'http://h', response: {merge: {id: 1}}}}]",
            "'response' would write to a deleted document; remove 'response'"
        ),
        ("when: {}, then: [merge: {a: $now}]", "3:43: warning: rule 'a': '$now' is plain text"),
        ("when: {}, then: [merge: {a: '$match.x'}]", "'$match.x' is plain text"),
        ("when: {}, then: [merge: {a: '{ jq: .b }'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {pet: .petId}]", "'.petId' is plain text, not a program; write { jq: … }"),
        ("when: {}, then: [merge: {a: {b: ['.lines[0].price']}}]", "'.lines[0].price' is plain text"),
        ("when: {}, then: [merge: {a: '.\"b-c\"'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: $.b}]", "'$.b' is plain text, not a program"),
        ("when: {}, then: [put: {id: '\"r.\" + ._id', document: {}}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: .b // 0}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '[.lines[].price] | add'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: 'if .b then 1 else 2 end'}]", "is plain text, not a program"),
        ("when: {}, then: [patch: [{op: add, path: /a, value: .b}]]", "'.b' is plain text, not a program"),
        ("when: {}, then: [merge: {a: now | todate}]", "is plain text, not a program"),
        (
            "when: {}, then: [put: {id: 'r.{{_id}}', document: {}}]",
            #"'r.{{_id}}' is plain text, and nothing is filled in; write a program: { jq: '"r.\(._id)"' }"#
        ),
        ("when: {}, then: [put: {id: 'r.${_id}', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: 'r.{_id}', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        (#"when: {}, then: [put: {id: 'r.\(._id)', document: {}}]"#, #"such as { jq: '"text \(.member)"' }"#),
        ("when: {}, then: [merge: {jq: '{a: $ENV.HOME}'}]", "can't read the environment"),
        ("when: {}, if: 'env | has(\"A\")', then: []", "can't read the environment"),
        ("when: {}, if: 'input', then: []", "no further input"),
        ("when: {}, then: [put: {id: x, document: {at: {jq: now}}}]", "'now' is the same as $now here; write $now"),
        ("when: {}, if: 'if .a then halt else . end', then: []", "use empty to do nothing"),
        (
            "when: {}, then: [merge: {a: {jq:.b}}]",
            "'jq:.b' is read as the name of a field; write a space after the colon"
        ),
        ("when: {}, then: [put: {id: x, document: {type:task}}]", "write a space after the colon: type: task"),
        ("when: {}, then: [merge: {a: {jg: .b}}]", "'jg' is read as the name of a field; did you mean jq?"),
        (
            "when: {}, then: [merge: {a: {jq: .a, .b}}]",
            "'.b' is read as a field beside 'jq'; put the whole program in quotes"
        ),
        ("when: {}, then: [merge: {done: yes}]", "yes is a text here; write true for the boolean"),
    ])
    func warnsAboutRule(rule: String, message: String) throws {
        let found = try messages("name: a, " + rule)
        #expect(found.count == 1 && found[0].contains(message), "\(found)")
    }

    @Test(arguments: [
        "when: {now: 1, input: {$exists: true}}, then: [merge: {env: production, now: soon}]",
        #"when: {}, if: '.env == "now" and .input.halt != {now: 1}', then: []"#,
        "when: {}, if: '$now > .input # now halt', then: [merge: {price: $5}]",
        "when: {}, then: [merge: {a: {jq: $now}}, detach: now]",
        "when: {}, then: [merge: {a: {jq: .a, n: 1}, b: {jq: x, c: null}}]",
        "when: {}, on: [change, delete], then: [merge: {a: 1}]",
        "when: {}, then: [merge: {done: 'yes', 'a:b': 1, a: null}]",
        "when: {}, then: [merge: {a: '.NET is fine', b: ..., c: '.5', d: '(see a + b)', e: 'a | b', f: '{name}', g: .}]",
        "when: {}, then: [merge: {a: '\"quoted\" + more', b: $5.00, c: '../a-b/c.png', h: '.a-b/c.png', d: '[x] + y', e: 'costs $.50'}]",
        "when: {}, on: [delete], then: [put: {id: x, document: {}}]",
    ])
    func acceptsRule(rule: String) throws {
        #expect(try messages("name: a, " + rule) == [])
    }
}
