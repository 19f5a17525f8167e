import Testing

@testable import Rules

/// Keys and names that are in the wrong place of a rule file.
@Suite struct MisplacedKeyTests {
    /// The warnings about the names in a rule's selectors and member lists, with their places.
    private func names(_ rule: String) throws -> [String] {
        let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nrules:\n- { name: a, \(rule), then: [] }\n".utf8))
        try #require(file.errors.isEmpty, "\(file.errors)")
        return RuleChecker.literals(CheckedRule(file.rules[0], RulePrediction(of: file.rules[0])))
            .filter { $0.code == .fieldName }.map(\.description)
    }

    @Test(arguments: [
        (
            "when: {state broken: true}", "3:21",
            "'state broken' is read as the name of one field; write each condition as"
        ),
        ("when: {type bike}", "3:21", "write a colon after the name: type: bike"),
        ("when: {}, unless: {$or: [{old bike: 1}]}", "3:40", "put the name in quotes"),
        ("when: {parts: {$elemMatch: {is broken: true}}}", "3:42", "'is broken' is read"),
        ("when: {}, changed: [state broken]", "3:34", "put a comma between two names"),
        ("when: {}, changed: [a], remember: [b c]", "3:49", "put a comma between two names"),
    ])
    func nameWithASpaceIsWarnedOf(rule: String, place: String, part: String) throws {
        let found = try names(rule)
        #expect(found.count == 1 && found[0].hasPrefix("r.yaml:\(place): warning: rule 'a': "), "\(found)")
        #expect(found.first?.contains(part) == true && found.first?.hasSuffix("[field-name]") == true, "\(found)")
    }

    @Test(arguments: [
        "when: {'state broken': true}", "when: {\"first name\": Ann}", "when: {}, changed: ['state broken']",
        "when: {first_name: Ann}",
    ])
    func quotedNameWithASpaceIsIntended(rule: String) throws {
        #expect(try names(rule) == [])
    }

    @Test(arguments: [
        ("when: {changed: [state]}", "changed"), ("when: {changed: state}", "changed"), ("when: {on: [enter]}", "on"),
        ("when: {on: leave}", "on"), ("when: {if: .a == 1}", "if"),
        ("when: {first: learn}", "first"), ("when: {remember: [a]}", "remember"),
        ("when: {unless: {a: 1}}", "unless"), ("when: {unless: {$or: [{a: 1}]}}", "unless"),
        ("when: {then: [{merge: {a: 1}}]}", "then"), ("when: {at: .due}", "at"), ("when: {on_error: skip}", "on_error"),
        ("when: {allow: [field-name]}", "allow"), ("when: {}, unless: {on: [enter]}", "on"),
    ])
    func keyOfTheRuleInASelectorIsWarnedOf(rule: String, key: String) throws {
        let found = try names(rule)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains("'\(key)' in '") == true, "\(found)")
        #expect(found.first?.contains("write \(key): { $eq: … }") == true, "\(found)")
    }

    /// Documents may have members of these names.
    @Test(arguments: [
        "when: {on: true}", "when: {first: Ann}", "when: {changed: true}", "when: {at: home}", "when: {name: Ann}",
        "when: {then: {$eq: [a]}}", "when: {unless: {$exists: true}}", "when: {lamp: {on: [enter]}}",
        "when: {allow: {$in: [a]}}",
    ])
    func fieldWithTheNameOfAKeyIsAccepted(rule: String) throws {
        #expect(try names(rule) == [])
    }

    @Test(arguments: [
        (
            "  - {name: a, when: {}, every: '@daily', then: []}",
            "r.yaml:3:25: 'every' does not belong here; write it at the top level of the file, next to 'rules'"
        ),
        (
            "  - {name: a, when: {}, time_zone: UTC, then: []}",
            "r.yaml:3:25: 'time_zone' does not belong here; write it at the top level of the file, next to 'rules'"
        ),
        (
            "  - {name: a, when: {}, then: [], put: {id: x, document: {}}}",
            "r.yaml:3:35: 'put' does not belong here; it is an action: write it in the list 'then'"
        ),
        (
            "  - name: a\n    when: {}\n    then:\n    - put: {id: x, document: {a: 1}}\n      if_exists: replace",
            "r.yaml:7:7: 'if_exists' does not belong here; write it in the value of 'put', "
                + "indented further, or in its braces"
        ),
        (
            "  - name: a\n    when: {}\n    then:\n    - detach: image\n      blob: image",
            "r.yaml:7:7: 'blob' does not belong here; write it in the value of 'detach', "
                + "indented further, or in its braces"
        ),
        (
            "  - {name: a, when: {}, then: [put: {id: x, document: {}, for_each: '.a[]'}]}",
            "r.yaml:3:59: 'for_each' does not belong here; write it next to the action, at the same level"
        ),
        (
            "  - {name: a, when: {}, then: []}\ntests: [{name: t, given: {}, fired: [], expect: {error: x}}]",
            "r.yaml:4:30: 'fired' does not belong here; write it in 'expect', indented further, or in its braces"
        ),
        (
            "  - {name: a, when: {}, then: []}\nwhen: {}",
            "r.yaml:4:1: 'when' does not belong here; write it in a rule, next to 'when' and 'then'"
        ),
    ])
    func keyInTheWrongObjectHasItsPlace(rules: String, expected: String) {
        let found = errors("version: 1\nrules:\n\(rules)\n")
        #expect(found == [expected])
    }

    @Test(arguments: [
        ("on: enter", "write on: [enter]"), ("on: 'enter, leave'", "write on: [enter, leave]"),
        ("on: Enter", "write on: [enter]"), ("on: deleted", "write on: [delete]"), ("on: often", "write on: [change]"),
        ("on: [updated]", "did you mean change?"), ("on: [leavs]", "did you mean leave?"),
        ("on: [x]", "write one of them"),
        ("changed: state", "write changed: [state]"), ("changed: 'a, b'", "write changed: [a, b]"),
        ("changed: {a: 1}", "write changed: [complete, address.city]"),
        ("allow: field-name", "write allow: [field-name]"),
    ])
    func listWithoutBracketsHasARemedy(key: String, remedy: String) {
        let found = errors("version: 1\nrules:\n- { name: a, when: {}, \(key), then: [] }\n")
        #expect(found.count == 1 && found[0].contains("; " + remedy), "\(found)")
    }
}
