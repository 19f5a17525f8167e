import Testing

@testable import Rules

/// Characters that can't be seen, or look like others, are named with their column.
@Suite struct OddCharacterTests {
    @Test(arguments: [
        ("  \u{A0} when: {}", "4:3: ", "column 3 has U+00A0, a no-break space: write a normal space"),
        ("    when:\u{A0}{}", "5:5: ", "line 4, column 10 has U+00A0, a no-break space: write a normal space"),
        ("    when\u{A0}: {}", "4:5: 'when\u{A0}' is not known", "column 9 has U+00A0, a no-break space"),
        ("    wh\u{200B}en: {}", #"4:5: 'wh\u200ben' is not known"#, "column 7 has U+200B, an invisible character"),
        ("    “when”: {}", "4:5: ", "column 5 has U+201C, a typographic quote: write a straight quote"),
        ("    when\u{FF1A} {}", "5:5: ", "line 4, column 9 has U+FF1A, which looks like ':': write ':'"),
        ("\u{FEFF}    when: {}", "4:", "column 1 has U+FEFF, a byte order mark: remove it"),
        ("    when: {}\n    on: [change\u{202F}]", "5:10: ", "column 16 has U+202F, a no-break space"),
        ("    when: {}\n    if: '.a\u{A0}| length'", "5:12: not a jq program: U+00A0", "write a normal space"),
        ("    when: {}\n    if: '.a \u{2212} 1'", "5:13: not a jq program: U+2212", "write '-'"),
        ("    when: {}\u{1}", "4:13: not YAML: U+0001, a control character, is not allowed here", "remove it"),
    ])
    func characterAndPlaceAreNamed(line: String, start: String, part: String) {
        let found = errors("version: 1\nrules:\n  - name: a\n\(line)\n    then: []\n")
        #expect(found.contains { $0.hasPrefix("r.yaml:" + start) && $0.contains(part) }, "\(found)")
    }

    @Test func dashOfAListIsNamed() {
        let found = errors("version: 1\nrules:\n  \u{2013} name: a\n    when: {}\n    then: []\n")
        #expect(found.first?.contains("line 3, column 3 has U+2013, which looks like '-'") == true, "\(found)")
    }

    @Test func characterInJSONIsNamed() {
        let found = errors("{\"version\": 1,\u{A0}\"rules\": [\"“x”\"]}", path: "r.json")
        #expect(found.first?.contains("column 15 has U+00A0, a no-break space") == true, "\(found)")
    }

    @Test(arguments: ["name: it’s – fine [", "name: \"“a”\u{A0}\" [", "name: a # a\u{A0}b\n    when: ["])
    func charactersOfTextAreNotNamed(line: String) {
        let found = errors("version: 1\nrules:\n  - \(line)\n")
        #expect(!found.isEmpty && !found.contains { $0.contains("U+") }, "\(found)")
    }

    @Test(arguments: [
        ("{ type\u{A0}: bike }", "'type\u{A0}' contains U+00A0, a no-break space; remove it", "[white-space]"),
        ("{ type: bi\u{200B}ke }", #"'bi\u200bke' contains U+200B, an invisible character; remove"#, "[white-space]"),
        ("{ “type”: bike }", "the quotes in “type” are part of the string", "[quotes]"),
    ])
    func selectorWithAnOddCharacterIsAWarning(when: String, part: String, code: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.contains { $0.contains(part) && $0.hasSuffix(code) }, "\(found)")
    }

    @Test func quotedTextMayHaveAnyCharacter() throws {
        #expect(try !selectorWarnings("{ \"type\u{A0}\": \"bi\u{A0}ke\" }").contains { $0.contains("U+00A0") })
    }

    @Test func actionWithAnInvisibleCharacterIsAWarning() throws {
        let found = try actionWarnings("name: a, when: {x: 1}, then: [merge: {a\u{200B}b: x\u{A0}y, x: 2}]")
        #expect(found.contains { $0.contains(#"'a\u200bb' contains U+200B"#) }, "\(found)")
        #expect(found.contains { $0.contains("contains U+00A0, a no-break space") }, "\(found)")
    }
}
