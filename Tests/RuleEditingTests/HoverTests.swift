import RuleEditing
import Testing

@Suite struct HoverTests {
    private static func hover(_ marked: String, path: String = "r.yaml") -> RuleHover? {
        let text = CursorText(marked, path: path)
        return text.file.hover(at: text.position)
    }

    private static let rule = beginning + "  - name: a\n"

    @Test func keysHaveTheDescriptionOfTheSchema() {
        #expect(Self.hover(Self.rule + "    wh‸en: {}\n")?.text.contains("Mango selector") == true)
        #expect(Self.hover(Self.rule + "    when: { a: { $reg‸ex: x } }\n")?.text.contains("PCRE2") == true)
        #expect(Self.hover(Self.rule + "    then: [{ mer‸ge: {} }]\n")?.text.contains("RFC 7396") == true)
        #expect(
            Self.hover(Self.rule + "    then:\n    - webhook:\n        ur‸l: x\n")?.text.contains("receiver") == true)
        #expect(
            Self.hover("version: 1\ntests:\n  - expect: { fi‸red: [] }\n")?.text.contains("rules that fire") == true)
        #expect(Self.hover(#"{"rules": [{"wh‸en": {}}]}"#, path: "r.json")?.text.contains("Mango") == true)
    }

    @Test func valuesHaveTheirMeaning() {
        #expect(Self.hover(Self.rule + "    allow: [fires-a‸gain]\n")?.text.hasPrefix("`fires-again`: ") == true)
        #expect(Self.hover(Self.rule + "    on: [le‸ave]\n")?.text.hasPrefix("`leave`: ") == true)
        #expect(Self.hover(Self.rule + "tests:\n  - expect: { fired: [‸a] }\n")?.text == "Rule on line 3.")
    }

    @Test func hoverIsThereInInvalidText() {
        #expect(Self.hover(Self.rule + "    th‸en: [\n    when: {\n")?.text.contains("Actions") == true)
        #expect(Self.hover(Self.rule + "    if: '\n    th‸en: []\n")?.text.contains("Actions") == true)
    }

    @Test func nothingElseHasAHover() {
        #expect(Self.hover(Self.rule + "    th‸em: []\n") == nil)
        #expect(Self.hover(Self.rule + "    # wh‸en\n") == nil)
        #expect(Self.hover("‸") == nil)
    }

    @Test func rangeIsTheKey() {
        let hover = Self.hover("version: 1\nrules:\n  - { name: '🍎', wh‸en: {} }\n")
        #expect(
            hover?.range == TextRange(start: TextPosition(line: 2, column: 18), end: TextPosition(line: 2, column: 22)))
    }
}
