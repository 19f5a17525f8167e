import Testing

@testable import Rules

/// Actions, keys and programs as a newcomer writes them: each has one message, with what to write.
@Suite struct ActionMistakeTests {
    private func mistakes(_ then: String, _ more: String = "") -> [String] {
        errors("version: 1\nrules:\n  - name: a\n    when: {}\n\(more)    then: \(then)\n")
    }

    /// The warnings about the actions of a rule.
    private func actionWarnings(_ rule: String) throws -> [String] {
        let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nrules:\n- { name: a, \(rule) }\n".utf8))
        try #require(file.errors.isEmpty, "\(file.errors)")
        return ActionCheck.warnings(file.rules[0]).map(\.description)
    }

    @Test(arguments: [
        ("[attach: ../pics/bean.png]", "write attach: { name: image, file: ../pics/bean.png }"),
        ("[webhook: http://h/hook]", "write webhook: { url: http://h/hook }"),
        ("[emit: out.ndjson]", "write emit: { file: out.ndjson }"),
        ("[emit: {file: a.ndjson, rotate: daily}]", "write rotate: { every: day }"),
        ("[delete]", "write a colon and a value after it: delete: {}"),
        ("[related: {when: {type: a}, selector: {type: a}, then: [delete: {}]}]", "is named selector"),
        ("[put: {id: '', document: {}}]", "'id' is empty"), ("[put: {id: 12, document: {}}]", "'id' must be text"),
        ("[put: {id: x, document: {}, keyspace: 'http://h/db'}]", "write DATABASE or DATABASE.SCOPE.COLLECTION"),
        ("[webhook: {url: localhost:8080/hook}]", "write http://localhost:8080/hook"),
        ("[aggregate: {into: t, sum: {seeds: .seeds}}]", "write { jq: .seeds }"),
        ("[aggregate: {into: t, sum: {seeds: seeds}}]", "write { jq: .seeds }"),
        ("[{ for_each: .weeks[], put: {id: x, document: {}} }]", "put the jq program in quotes: for_each: '…'"),
        ("[expire: 01.02.2027]", "which is a date in a local form; write it as 2026-11-20"),
    ])
    func actionHasOneErrorWithItsRemedy(then: String, part: String) {
        let found = mistakes(then)
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        ("after: .a", "did you mean 'at'?"), ("comment: x", "write it as a comment, after '# '"),
        ("enabled: false", "to switch a rule off, write '# ' before each of its lines"),
        ("if: a == 1", "write \"a\" if it is a string, or .a if it is a field"),
        ("if: .a == “b”", "write straight quotes"), ("if: .name.startswith(\"a\")", "a function has no '.' before it"),
        ("if: .name | lower", "did you mean ascii_downcase?"), ("if: len(.a) > 1", "did you mean length?"),
        ("if: .a | addDays(1)", "did you mean add_days?"), ("if: doc.a", "write . for the document"),
        (#"if: '"x \(a)" == .b'"#, "or .a if it is a field"),
    ])
    func keyOrProgramHasOneErrorWithItsRemedy(key: String, part: String) {
        let found = mistakes("[]", "    \(key)\n")
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test func actionInAnExpectationIsToldWhatToExpect() {
        let test = "tests:\n  - {name: t, given: {_id: x}, expect: {merge: {a: 1}}}\n"
        let text = "version: 1\nrules:\n  - {name: a, when: {}, then: []}\n" + test
        let found = RuleFile(path: "r.yaml", bytes: Array(text.utf8)).errors.map { "\($0)" }
        let part = "expect its result: patch, document, attachments or effects"
        #expect(found.contains { $0.contains(part) }, "\(found)")
    }

    @Test(arguments: [
        ("merge: {price: 1,5}", "a decimal number needs a point: 1.5 [field-name]"),
        ("merge: {address.city: Ulm}", "for a nested member write address: { city: … }"),
        ("merge: {a: “b”}", "the quotes in “b” are part of the string"),
        ("merge: {a: {jq: '\"x {.b}\"'}}", #"'{.b}' in a string of a program is not filled in; write \(.b) [program]"#),
        ("merge: {a: {jq: '\"x ${.b}\"'}}", #"write \(.b)"#),
        ("{for_each: .weeks, put: {id: {jq: $item.id}, document: {}}}", "for each element write .weeks[] [program]"),
    ])
    func actionIsWarnedOf(action: String, part: String) throws {
        let found = try actionWarnings("when: {type: b}, then: [\(action)]")
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
    }

    @Test(arguments: [
        "merge: {'address.city': Ulm}", "merge: {address: {city: Ulm}}", "merge: {'5': null}", "merge: {a5: null}",
        "merge: {a: {jq: '\"{a} \\(.b)\"'}}", "{for_each: '.weeks[]', put: {id: {jq: $item.id}, document: {}}}",
        "{for_each: '.weeks | to_entries | .[]', put: {id: {jq: $item.id}, document: {}}}",
    ])
    func intendedActionIsAccepted(action: String) throws {
        #expect(try actionWarnings("when: {type: b}, then: [\(action)]") == [])
    }

    /// On Sync Gateway 4, the member was always null.
    @Test func memberOfATombstoneIsReported() throws {
        let document = "{of: {jq: ._id}, who: {jq: .member}}"
        let put = "when: {}, then: [put: {id: {jq: '\"gone.\" + ._id'}, document: \(document)}]"
        let found = try actionWarnings("on: [delete], \(put)")
        let part = "write on: [leave], remember: [member] and $before.member"
        #expect(found.count == 1 && found[0].contains(part), "\(found)")
        #expect(try actionWarnings("on: [change, delete], \(put)").isEmpty)
    }

    @Test func scheduleThatIsNoCronLineHasAnExample() {
        let file = RuleFile(path: "r.yaml", bytes: Array("version: 1\nevery: 24h\nrules: []\n".utf8))
        #expect(file.errors.contains { "\($0)".contains("write \"0 3 * * *\" for each day at 3:00") }, "\(file.errors)")
    }
}
