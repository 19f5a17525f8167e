import Foundation
import Testing

@testable import Rules

/// Typos in rule files are reported with their position and a remedy.
@Suite struct RuleFileMistakeTests {
    private static let head = "version: 1\nrules:\n  - name: a\n    when: {}\n    then:\n"

    /// Regression: a number in place of a program hid the other errors of its action.
    @Test func allWrongProgramsAreReported() {
        let found = errors(
            Self.head + """
                      - merge: { a: { jq: 5 }, b: { jq: '.x |' }, c: { jq: [1] }, d: [{ jq: null }, { jq: 6 }] }
                      - { for_each: 7, put: { id: { jq: 8 }, document: { jq: 9 } } }
                      - merge: { e: { jq: '.z[', type: none } }

                """)
        #expect(found.count == 10, "\(found.joined(separator: "\n"))")
    }

    @Test(arguments: [
        (
            "rules/*.yaml",
            "does not exist: patterns are not expanded here; leave '/*.yaml' out, to name the folder: all"
        ),
        ("none-[ab].yaml", "patterns are not expanded here; name the folder, . for this one: all *.yaml, *.yml and"),
        ("*/a.yaml", "patterns are not expanded here; name each folder"),
        ("~/none.yaml", "does not exist; '~' is not expanded here: write the whole path"),
        ("$HOME/none.yaml", "does not exist; variables are not expanded here: write the whole path"),
        ("none.yaml", "none.yaml: does not exist; correct the path or create the file"),
    ])
    func pathThatAShellWouldExpandHasARemedy(path: String, part: String) {
        do throws(RuleFilesError) {
            _ = try RuleFileSet.load(paths: [path])
            Issue.record("it is read")
        } catch {
            #expect(error.kind == .missing && error.description.contains(part), "\(error)")
        }
    }

    @Test(arguments: [
        ("{age: { $gt:18 }}", "'$gt:18' is read as one name; write a colon and a space after the operator: $gt: 18"),
        ("{age: {$gt 18}}", "'$gt 18' is read as one name; write a colon and a space after the operator: $gt: 18"),
        ("{$or:[{a: 1}]}", "write a colon and a space after the name: $or: […"),
        ("{ $or [ {a: 1} ] }", "write a colon and a space after the name: $or: […"),
        ("{age: {$in:[1, 2]}}", "write a colon and a space after the name: $in: […"),
        ("{age: {$in [1, 2]}}", "write a colon and a space after the name: $in: […"),
    ])
    func operatorWithoutAColonOrSpaceHasARemedy(when: String, part: String) {
        let found = errors("version: 1\nrules:\n  - name: a\n    when: \(when)\n    then: []\n")
        #expect(found.first?.contains(part) == true, "\(found)")
    }

    @Test(arguments: [
        (
            "$before.a",
            "$before is not defined; only a rule with 'changed', or with enter or leave in 'on', has it; add"
        ),
        (
            "$changed",
            "$changed is not defined; only a rule with 'changed', or with enter or leave in 'on', has it; add"
        ),
        ("$item.a", "$item is not defined; only the programs of an action with 'for_each' have it"),
        ("$index", "add for_each: PROGRAM next to the action"),
        ("$response.body", "$response is not defined; only the programs in the 'response' of a webhook have it"),
        ("$source.a", "$source is not defined; only the programs in the 'then' of related have it"),
    ])
    func variableOfOtherProgramsHasARemedy(program: String, part: String) {
        let found = errors("version: 1\nrules:\n  - {name: a, when: {}, then: [merge: {a: {jq: '\(program)'}}]}\n")
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        (
            "url: 'https://h/x/{{._id}}'",
            "'url' is plain text, and placeholders in it are not filled in; end it before the path, and compute the rest: "
                + #"path: { jq: '"/x/\(._id | @uri)"' }"#
        ),
        (
            "url: 'https://h', path: '/x/{{ _id }}?a=<_rev>'",
            "'path' is plain text, and placeholders in it are not filled in; write "
                + #"path: { jq: '"/x/\(._id | @uri)?a=\(._rev | @uri)"' }"#
        ),
        ("url: 'https://h/{a'", "'url' can't contain the character '{'; percent-encode it"),
    ])
    func placeholderInAURLHasARemedy(keys: String, part: String) {
        let found = errors("version: 1\nrules:\n  - {name: a, when: {}, then: [webhook: {\(keys)}]}\n")
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        (#"'"x" + ._id'"#, #"'"x" + ._id' is plain text, not a program; write { jq: '"x" + ._id' }"#),
        (".petId", "'.petId' is plain text, not a program; write { jq: .petId }"),
        ("'.a + ''b'''", "write { jq: '.a + ''b''' }"),
        ("'{ jq: .a }'", "write it without the quotes around it"),
        ("$before.owner", "'$before.owner' is plain text, not a program; write { jq: $before.owner }"),
    ])
    func forgottenProgramHasARemedyToPaste(value: String, part: String) throws {
        let text = "version: 1\nrules:\n  - {name: a, when: {}, then: [put: {id: \(value), document: {a: 1}}]}\n"
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8))
        let found = try ActionCheck.warnings(#require(file.rules.first)).map(\.description)
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        (".d + 42d", "a program has no durations: write … | add_days(42), or \"42d\" in quotes for text"),
        ("$now + 12h", "a program has no durations: write 43200, in seconds, or \"12h\" in quotes for text"),
    ])
    func durationInAProgramHasARemedy(program: String, part: String) {
        let found = errors("version: 1\nrules:\n  - {name: a, when: {}, then: [expire: {jq: '\(program)'}]}\n")
        #expect(found.first?.contains(part) == true, "\(found)")
    }

    @Test(arguments: [
        (
            "version: 1\nrules:\n  - name: a\n    when: type:task\n    then: []", "4:11: a selector must be an object",
            "write a space after the colon: type: task"
        ),
        (
            "version: 1\nrules:\n  - name:a\n    when: {}\n    then: []", "3:5: not YAML: mapping values",
            "write a space after the colon: name: a"
        ),
        ("version: 1\nrules:\n  - name:a", "3:5: a rule must be an object", "write a space after the colon: name: a"),
        ("version:1\nrules: []", "1:1: not YAML: mapping values", "write a space after the colon: version: 1"),
        (
            "version: 1\nrules:\n  -name: a\n   when: {}\n   then: []", "3:3: not YAML: mapping values",
            "write a space after the dash: - name"
        ),
        (
            head + "      - put: {id: x, document: {a: 1}, if_exists:replace}",
            "6:40: 'if_exists:replace' is read as a key without a value", "if_exists: replace"
        ),
        (
            head + "      - put:\n          id: x\n          if_exists:replace\n          document: {a: 1}",
            "8:11: not YAML: could not find expected ':'", "write a space after the colon: if_exists: replace"
        ),
        (
            head + "      - put:\n          id:x\n          document: {a: 1}", "7:11: not YAML",
            "write a space after the colon: id: x"
        ),
        (head + "      - merge: a:b", "6:16: merge takes an object", "write a space after the colon: a: b"),
        (head + "      merge:a", "6:7: 'then' must be a list", "write a space after the colon: merge: a"),
        (
            head + "      - merge: {a: 1}\n    on_error:skip", "7:5: not YAML",
            "write a space after the colon: on_error: skip"
        ),
    ])
    func missingSpaceIsReported(text: String, place: String, remedy: String) {
        let found = errors(text)
        #expect(found.contains { $0.hasPrefix("r.yaml:" + place) && $0.contains(remedy) }, "\(found)")
    }

    /// The old advice, a dash before each key, led to the next error.
    @Test(arguments: [
        (head + "    - merge:\n      a: 1", "7:7", "'a' is at the same level as 'merge', which is empty"),
        (head + "    - merge:\n      a: 1\n      name: 2", "7:7", "indent it further than 'merge'"),
        (
            head + "    - put:\n      id: x\n      document: {}\n      if_exists: replace", "7:7",
            "'id' is at the same level as 'put'"
        ),
        (head + "      - attach:\n        name: x\n        file: y", "7:9", "'name' is at the same level as 'attach'"),
    ])
    func unindentedBodyIsReported(text: String, place: String, part: String) {
        let found = errors(text)
        #expect(found.count == 1)
        #expect(found.allSatisfy { $0.hasPrefix("r.yaml:" + place) && $0.contains(part) }, "\(found)")
    }

    @Test(arguments: [
        (head + "    - merge: {}\n      a: 1", "'a' is not known to this version;"),
        (head + "    - delete:\n      merge: {a: 1}", "each list element must be one action, not 2"),
        (head + "    - merge: {}\n      put: {id: x, document: {}}", "each list element must be one action, not 2"),
        (
            "version: 1\nrules:\n  - name: a\n    when:\n    type: task\n    then: []",
            "'type' is at the same level as 'when'"
        ),
    ])
    func keysBesideAnActionAreReported(text: String, part: String) {
        let found = errors(text)
        #expect(found.contains { $0.contains(part) }, "\(found)")
    }

    @Test(arguments: [
        ("version: 1\nrules: []\n", true), ("version: 1\nkind: mapping\nrules: []\n", true),
        ("version: 1\nkind: mapping\notherwise: drop\nrules: []\n", false),
        ("version: 1\nrules: [{name: a, when: {}, then: []}]\n", false),
    ])
    func fileWithoutRulesIsReported(text: String, isLogged: Bool) throws {
        let set = try ruleFileSet(text)
        for found in [set.warnings(), set.likelyTypos()] {
            #expect(found.map(\.code) == (isLogged ? [.noRules] : []))
            #expect(
                found.allSatisfy {
                    $0.description.contains(": warning: there are no rules in this file")
                        && $0.description.hasSuffix("[no-rules]")
                }, "\(found)")
        }
        #expect(errors("version: 1\nrules: [{name: a, when: {}, then: [], allow: [no-rules]}]").count == 1)
    }

    @Test(arguments: [
        ("version: 1\nrules:\n\t- name: a\n", "3:1"),
        ("version: 1\nrules:\n  - name: a\n  \twhen: {}\n    then: []\n", "4:3"),
        ("version: 1\nrules:\n  - name: a\n    when:\n\t  type: task\n    then: []\n", "5:1"),
        (head + "      - merge:\n      \t    a: 1\n", "7:7"),
    ])
    func tabIsReported(text: String, place: String) {
        let found = errors(text)
        #expect(found.count == 1)
        #expect(
            found.allSatisfy {
                $0.hasPrefix("r.yaml:\(place): not YAML: ") && $0.hasSuffix("; indent with spaces, not tabs")
            }, "\(found)")
    }

    @Test(arguments: [
        ("      - merge: {x: {jq: .a[0]}}", "6:25"), ("      - merge: {x: {jq: .a | {b: .c}}}", "6:25"),
        ("      - merge:\n          x: { jq: if .a then .b[] else \"c: d\" end }", "7:20"),
        ("      - merge: {x: {jq: @base64 }}", "6:25"),
        ("      - merge:\n          x: {jq: .a}\n          y: {jq: .a[\"b c\"]}", "8:19"),
    ])
    func unquotedProgramIsReported(action: String, place: String) {
        let found = errors(Self.head + action)
        #expect(found.count == 1)
        #expect(
            found.allSatisfy {
                $0.hasPrefix("r.yaml:\(place): not YAML: ") && $0.hasSuffix("; put the jq program in quotes: jq: '…'")
            }, "\(found)")
    }

    @Test func unquotedConditionIsReported() {
        let rule = "version: 1\nrules:\n  - name: a\n    when: {}\n    if: %\n    then: []\n"
        let plain = errors(rule.replacing("%", with: ".a[0] == \"x: y\""))
        #expect(
            plain.count == 1 && plain[0].hasPrefix("r.yaml:5:9: ") && plain[0].hasSuffix("in quotes: if: '…'"),
            "\(plain)")
        let quoted = errors(rule.replacing("%", with: "\"a\" == .b"))
        #expect(
            quoted.count == 1 && quoted[0].hasPrefix("r.yaml:5:9: ")
                && quoted[0].contains("put all of it in single quotes"), "\(quoted)")
    }

    @Test(arguments: [
        ("{task: '$regex:^a'}", "'$regex:^a' is a string, not an operator; write { $regex: '^a' }"),
        ("{task: $exists:false}", "write { $exists: false }"), ("{n: '$gt: 5'}", "write { $gt: 5 }"),
        ("{n: {$in: [a, '$in [b]']}}", "write { $in: [b] }"),
        ("{n: {$ne: '$regex: \"x\"'}}", "write { $regex: \"x\" }"),
    ])
    func quotedOperatorIsReported(when: String, warning: String) throws {
        let found = try selectorWarnings(when)
        #expect(
            found.count == 1 && found.allSatisfy { $0.contains(warning) && $0.hasSuffix("[not-an-operator]") },
            "\(found)")
    }

    @Test(arguments: [
        "{price: '$5'}", "{n: '$regex'}", "{n: '$foo: 1'}", "{n: {$regex: '^$in: x'}}", "{u: 'http://x'}",
    ])
    func otherTextsAreNotOperators(when: String) throws {
        #expect(try selectorWarnings(when) == [])
    }

    @Test func ruleWithErrorsReservesItsName() throws {
        let shared = RuleReading.Shared()
        let text = "version: 1\nrules:\n  - {name: a, when: 1, then: []}\n  - {name: a, when: {}, then: []}\n"
        _ = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: shared)
        #expect(shared.names.map(\.text) == ["a", "a"])
        #expect(shared.names.map(\.position.line) == [3, 4])
    }

    @Test func everyErrorOfAFileIsReported() {
        let text = """
            version: 1
            rules:
              - {name: a, when: {x: {$in: 1}}, then: []}
              - {name: c, when: {y: {$foo: 1}}, if: .a ==, then: [{mrege: {}}, {patch: [{op: test}, {op: nope, path: /a}]}]}
              - {name: d, when: {}, then: [{attach: {name: _i, file: /no/such, content_type: x}}]}
              - {name: c, when: {}, then: []}
            """
        let found = errors(text)
        let expected = [
            "3:31: $in takes", "4:26: '$foo' is not", "4:46: not a jq program",
            "4:56: 'mrege'", "4:77: patch: give", "4:89: patch: ", "5:48: gateways refuse", "5:58: '/no/such'",
            "5:82: 'x' is not a content type",
        ]
        for error in expected { #expect(found.contains { $0.hasPrefix("r.yaml:" + error) }, "\(error): \(found)") }
    }

    @Test(arguments: [
        (
            "merge: {a: {jq: .a, defualt: 1}}", "defualt",
            "'defualt' is not a known key next to 'jq'; write a default in the program"
        ),
        (
            "merge: {a: [{jq: .a, tpye: number}]}", "tpye",
            "'tpye' is not a known key next to 'jq': did you mean 'type'?"
        ),
        ("merge: {jq: .a, Type: object}", "Type", "did you mean 'type'?"),
        ("merge: {a: {jq: .a, .b}}", ".b}", "put the whole program in quotes"),
        ("merge: {a: {jq: .a, type:number}}", "type:number", "write a space after the colon: type: number"),
        (
            "merge: {a: {jq: .a, unit: kg, type: number}}", "unit",
            "'unit' is not a known key next to 'jq'; known here: jq, type."
        ),
        ("put: {id: {jq: ._id, x: 1}, document: {}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("put: {id: x, document: {jq: ., x: 1}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("patch: [{op: add, path: /a, value: {jq: .a, x: 1}}]", "x: 1", "'x' is not a known key next to 'jq'"),
        ("patch: {jq: .a, x: 1}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("webhook: {url: 'http://h', body: {a: {jq: .a, x: 1}}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("webhook: {url: 'http://h', headers: {A: {jq: .a, x: 1}}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("webhook: {url: 'http://h', path: {jq: .a, x: 1}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("emit: {file: x, line: {jq: .a, x: 1}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("related: {selector: {a: {jq: .a, x: 1}}, then: [delete: {}]}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("{for_each: {jq: '.a[]', x: 1}, merge: {b: 1}}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("expire: {jq: .a, x: 1}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("attach: {name: {jq: .a, x: 1}, file: \(#filePath)}", "x: 1", "'x' is not a known key next to 'jq'"),
        ("aggregate: {into: {jq: .a, x: 1}, add: {n: 1}}", "x: 1", "'x' is not a known key next to 'jq'"),
    ])
    func unknownKeyBesideAProgramIsReported(action: String, key: String, part: String) throws {
        let line = "    - \(action)"
        let start = try #require(line.range(of: key, options: .backwards)?.lowerBound)
        let column = line[..<start].count + 1
        let found = errors(Self.head + line)
        #expect(found.contains { $0.hasPrefix("r.yaml:6:\(column): ") && $0.contains(part) }, "\(found)")
    }

    @Test func unknownKeyInAConditionIsReported() {
        for key in ["if", "at"] {
            let found = errors(
                "version: 1\nrules:\n  - name: a\n    when: {}\n    \(key): {jq: .a, x: 1}\n    then: []")
            #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("r.yaml:5:18: 'x' is not") }, "\(found)")
        }
    }

    @Test(arguments: [
        ("{owner: .ownerId}", "'.ownerId' is plain text here and is not computed", "not-a-program"),
        ("{owner: {$in: [a, '$now']}}", "'$now' is plain text here", "not-a-program"),
        ("{n: {$gt: .minimum}}", "'.minimum' is plain text here", "not-a-program"),
        ("{jq: '.state = \"paid\"'}", "selectors can't compute values; write if: '.state = \"paid\"'", "field-name"),
        ("{owner: {jq: .ownerId}}", "'jq' is read as the name of a field", "field-name"),
    ])
    func programInASelectorIsReported(when: String, part: String, code: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.contains { $0.contains(part) && $0.hasSuffix("[\(code)]") }, "\(found)")
    }

    @Test(arguments: [
        "{ext: .pdf}", "{file: .gitignore}", "{a: {$in: ['...', '.5', . . .]}}", "{version: {$gt: '.5a'}}",
    ])
    func otherTextsInSelectorsAreAccepted(when: String) throws {
        #expect(try selectorWarnings(when) == [])
    }

    @Test(arguments: [
        ("    when: {type: \"a}\n    then: []\n  - name: y\n    when: {type: \"b\"}\n", "4:18"),
        ("    if: '.a == 1\n    when: {}\n    then: []\n", "4:9"),
        ("    if: '.a == 1\n    when: {}\n    then: [merge: {b: 'c'}]\n", "4:9"),
        ("    when: {}\n    then:\n      - merge: {a: {jq: '.a}}\n      - merge: {b: {jq: '.b'}}\n", "6:25"),
        ("    if: |\n      .a == \"b\n      and .c == 'd'\n    when: {a: 'x}\n", "7:15"),
        ("    when: {a: 'it''s', b: \"\\\"\"} # don't\n    if: \"x\n    then: []\n", "5:9"),
    ])
    func unclosedQuoteIsReportedWhereItOpens(rest: String, place: String) {
        let found = errors("version: 1\nrules:\n  - name: a\n" + rest)
        #expect(found.count == 1)
        #expect(
            found.allSatisfy {
                $0.hasPrefix("r.yaml:\(place): not YAML: ")
                    && $0.hasSuffix("; the quote that opens here is not closed on its line; write the missing one")
            }, "\(found)")
    }

    @Test func versionAsTextIsReported() {
        for version in ["\"1\"", "'1'", "\" 1\""] {
            #expect(
                errors("version: \(version)\nrules: []\n") == [
                    "r.yaml:1:10: 'version' must be a number, not text; remove the quotes: version: 1"
                ])
        }
    }

    @Test(arguments: ["{$ne: 1}", "{$not: {$eq: 1}}"])
    func conditionWithoutAFieldIsReported(selector: String) {
        for rule in [
            "when: \(selector), then: []", "when: {}, then: [related: {selector: \(selector), then: [delete: {}]}]",
        ] {
            let found = errors("version: 1\nrules: [{name: a, \(rule)}]\n")
            #expect(found.contains { $0.contains("a condition without a field name; write {field: {$") }, "\(found)")
        }
    }

    /// CouchDB accepts these.
    @Test(arguments: ["{type: a, $ne: 1}", "{$or: [{a: 1}, {$ne: 1}]}"])
    func conditionOnTheWholeDocumentIsReported(selector: String) throws {
        let found = try selectorWarnings(selector)
        #expect(
            found.contains { $0.contains("'$ne' has no field before it") && $0.hasSuffix("[field-name]") }, "\(found)")
    }

    @Test func sizeNeedsAUnit() {
        for size in ["10", "'10'"] {
            let found = errors(Self.head + "      - emit: {file: x, rotate: {size: \(size)}}")
            #expect(
                found == ["r.yaml:6:40: 'size' needs a unit; write 10MB, or 10B for bytes"], "\(found)")
        }
        #expect(errors(Self.head + "      - emit: {file: x, rotate: {size: 10B}}") == [])
    }
}
