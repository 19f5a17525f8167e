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
            "'owner' only if the deletion writes it (never on Sync Gateway 4), and without it no document is related"
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
        ("when: {}, then: [merge: {pet: .petId}]", "'.petId' is plain text, not a program; write { jq: .petId }"),
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
            #"'r.{{_id}}' is plain text, and placeholders are not filled in; write a program: { jq: '"r.\(._id)"' }"#
        ),
        ("when: {}, then: [put: {id: 'r.${_id}', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: 'r.{_id}', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: 'l.$index', document: {}}]", #"{ jq: '"l.\($index)"' }"#),
        ("when: {}, then: [put: {id: 'r.$_id', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: 'r.(._id)', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: 'r.<_id>', document: {}}]", #"{ jq: '"r.\(._id)"' }"#),
        ("when: {}, then: [put: {id: '<%= petId %>', document: {}}]", #"{ jq: '"\(.petId)"' }"#),
        (
            "when: {}, then: [merge: {a: 'for <%= owner.name %>: $item.title'}]",
            #""for \(.owner.name): \($item.title)""#
        ),
        ("when: {}, then: [merge: {a: 'at-$now'}]", #"{ jq: '"at-\($now)"' }"#),
        ("when: {}, then: [merge: {a: '. | keys'}]", "'. | keys' is plain text, not a program"),
        ("when: {}, then: [merge: {a: '.. | numbers'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '.a.b | length'}]", "is plain text, not a program"),
        (#"when: {}, then: [merge: {a: '"\(.a)-\(.b)"'}]"#, "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '[.tags[]]'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '{total: .sum}'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '.first, .last'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: 'map(.price) | add'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: 'map(.price)'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '.tags[-1]'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '-.price'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '2 * .price'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: 'try .a catch null'}]", "is plain text, not a program"),
        ("when: {}, then: [merge: {a: '$change[\"id\"]'}]", "is plain text, not a program"),
        (#"when: {}, then: [merge: {a: '@uri "x/\(.a)"'}]"#, "is plain text, not a program"),
        ("when: {}, then: [related: {selector: {a: .owner}, then: [delete: {}]}]", "'.owner' is plain text"),
        (#"when: {}, then: [put: {id: 'r.\(._id)', document: {}}]"#, #"such as { jq: '"text \(.member)"' }"#),
        ("when: {}, then: [merge: {jq: '{a: $ENV.HOME}'}]", "can't read the environment"),
        ("when: {}, if: 'env | has(\"A\")', then: []", "can't read the environment"),
        ("when: {}, if: 'input', then: []", "no other input"),
        ("when: {}, then: [put: {id: x, document: {at: {jq: now}}}]", "'now' is the same as $now here; write $now"),
        ("when: {}, if: 'if .a then halt else . end', then: []", "use empty to do nothing"),
        (
            "when: {}, then: [merge: {a: {jq:.b}}]",
            "'jq:.b' is read as the name of a field; write a space after the colon"
        ),
        ("when: {}, then: [put: {id: x, document: {type:task}}]", "write a space after the colon: type: task"),
        ("when: {}, then: [merge: {a: {jg: .b}}]", "'jg' is read as the name of a field; did you mean jq?"),
        ("when: {}, then: [merge: {done: yes}]", "yes is a string here; write true for the boolean"),
    ])
    func mistakeIsReported(rule: String, message: String) throws {
        let found = try messages("name: a, " + rule)
        #expect(found.count == 1 && found[0].contains(message), "\(found)")
    }

    @Test(arguments: [
        "when: {now: 1, input: {$exists: true}}, then: [merge: {env: production, now: soon}]",
        #"when: {}, if: '.env == "now" and .input.halt != {now: 1}', then: []"#,
        "when: {}, if: '$now > .input # now halt', then: [merge: {price: $5}]",
        "when: {}, then: [merge: {a: {jq: $now}}, detach: now]",
        "when: {}, on: [change, delete], then: [merge: {a: 1}]",
        "when: {}, then: [merge: {done: 'yes', 'a:b': 1, a: null}]",
        "when: {}, then: [merge: {a: '.NET is fine', b: ..., c: '.5', d: '(see a + b)', e: 'a | b', f: '{name}', g: .}]",
        "when: {}, then: [merge: {a: '\"quoted\" + more', b: $5.00, c: '../a-b/c.png', h: '.a-b/c.png', d: '[x] + y', e: 'costs $.50'}]",
        "when: {}, on: [delete], then: [put: {id: x, document: {}}]",
        "when: {}, then: [merge: {a: .gitignore, b: . . ., c: .tar.gz, d: .NET, e: .pdf, f: .bashrc, g: '.'}]",
        "when: {}, then: [merge: {a: '[.pdf, .png]', b: '(.env)', c: '.pdf or .png', d: '... | more', e: 'a.b'}]",
        "when: {}, then: [merge: {a: 'test (see .foo)', b: 'if .a', c: '5 - 3', d: '.well-known/x', e: '@jq', f: '..'}]",
        "when: {}, then: [merge: {a: 'costs $5', b: a.b, c: 'x < y', d: 'the $match stage', e: '<b>x</b>', f: 'f(x)'}]",
        "when: {}, then: [merge: {a: 'docs(.pdf)', b: '50% <= x', c: US$item5, d: '$indexes', e: '(.5)', f: 'a <% b'}]",
        "when: {}, then: [merge: {if: 'a = b', at: 'x = y', h: './run | less', i: '3.5 - 4.5', j: '.5 | .7'}]",
    ])
    func validRuleIsAccepted(rule: String) throws {
        #expect(try messages("name: a, " + rule) == [])
    }

    @Test(arguments: [
        ("if: '.state = \"paid\"'", "'.state = \"paid\"'"), ("if: {jq: '.a = 1 and .b == 2'}", "'.a = 1 and .b == 2'"),
        ("if: '(.a = 1)'", "'.a = 1'"), ("if: '.a == 1 and (.b = 2)'", "'.b = 2'"), ("if: '.a = 1 | not'", "'.a = 1'"),
        ("if: 'if .a then .b = 1 else false end'", "'.b = 1'"), ("if: '.lines | any(.done = true)'", "'.done = true'"),
        ("if: 'true', then: [merge: {x: {jq: 'if .a = 1 then 1 elif .b == 2 then 2 else 3 end'}}]", "'.a = 1'"),
        ("if: 'true', then: [merge: {x: {jq: 'if .a == 1 then 1 elif .b |= 2 then 2 else 3 end'}}]", "'.b |= 2'"),
        ("if: 'true', then: [merge: {x: {jq: '[.l[] | select(.a=1)]'}}]", "'.a=1'"),
        ("if: 'true', then: [merge: {x: {jq: 'all(.l[]; .ok = true)'}}]", "'.ok = true'"),
        (#"if: 'true', then: [merge: {x: {jq: '"a\(if .a = 1 then 1 else 2 end)"'}}]"#, "'.a = 1'"),
        ("if: 'true', then: [merge: {x: {jq: '.a = 1', type: boolean}}]", "'.a = 1'"),
    ])
    func conditionThatAssignsIsReported(rest: String, part: String) throws {
        let found = try messages("name: a, when: {}, " + rest + (rest.contains("then: [") ? "" : ", then: []"))
        #expect(found.count == 1, "\(found)")
        #expect(
            found.allSatisfy {
                $0.contains("the condition \(part) assigns, so it is always true; write == to compare")
                    && $0.hasSuffix(" [assignment]")
            }, "\(found)")
    }

    @Test(arguments: [
        "if: '.a == 1'", "if: '.a = 1 | .b > 1'", "if: '[.l[] | .a = 1] | length > 0'", "if: '.a <= 1 or .b >= 2'",
        "if: '.a as $x | .b == $x'", "if: 'if .x == \"a = b\" then true else false end'",
        "if: 'true', then: [merge: {jq: '.a = 1'}]", "if: 'true', then: [merge: {jq: 'if .a then .b = 1 else . end'}]",
        "if: 'true', then: [merge: {jq: 'map_values(.a = 1)'}]",
        "if: 'true', then: [merge: {x: {jq: '{if: 1, then: .a}'}}]",
        "if: 'true', then: [merge: {x: {jq: '[.l[] | select(.a == 1) | .b = 2]'}}]", "if: '(.a = 1) | .b'",
    ])
    func comparisonsAndChangesAreAccepted(rest: String) throws {
        #expect(try messages("name: a, when: {}, " + rest + (rest.contains("then: [") ? "" : ", then: []")) == [])
    }

    private static let grouped = "name: a, when: {task: {$regex: '^(?<what>.)'}, b: {$not: {$regex: '(?<no>.)'}}}, "

    @Test(arguments: [
        ("$match.waht", "no $regex in 'when' has this group: did you mean 'what'? Groups: what"),
        ("$match[\"x\"]", "$match.x is always null"), ("$match.\"x\"", "$match.x is always null"),
        ("$match | .x", "$match.x is always null"), ("\"a\\($match.x)\"", "$match.x is always null"),
        ("$match.no", "groups inside $not, $nor, $elemMatch and the like don't count"),
    ])
    func missingGroupIsReported(program: String, part: String) throws {
        for rest in ["if: '\(program)', then: []", "then: [merge: {x: [{jq: '\(program)'}]}]"] {
            let found = try messages(Self.grouped + rest)
            #expect(
                found.count == 1 && found.allSatisfy { $0.contains(part) && $0.hasSuffix(" [unknown-group]") },
                "\(found)")
        }
    }

    @Test func groupsThatExistAreAccepted() throws {
        #expect(try messages(Self.grouped + "if: '$match.what // ($match | keys)', then: []") == [])
        let none = try messages("name: a, when: {a: {$regex: x}}, if: '$match.y', then: []")
        #expect(none.count == 1 && none.allSatisfy { $0.contains("write (?<y>…) in it") }, "\(none)")
        let related = try messages(
            Self.grouped + "then: [related: {selector: {a: {jq: $match.what}}, then: [merge: {b: {jq: $match.what}}]}]")
        #expect(related.count == 1 && related.allSatisfy { $0.contains("'then' of related") }, "\(related)")
    }
}
