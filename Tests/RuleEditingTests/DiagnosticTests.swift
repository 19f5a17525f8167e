import RuleEditing
import Testing

@Suite struct DiagnosticTests {
    @Test func errorIsAtItsKey() {
        let file = edited("version: 1\nrules:\n  - name: a\n    whn: {}\n    then: []\n")
        let found = file.diagnostics
        #expect(found.count == 2)
        #expect(found.last?.range.start == TextPosition(line: 3, column: 4))
        #expect(found.last?.range.end == TextPosition(line: 3, column: 7))
        #expect(found.last?.severity == .error)
        #expect(found.last?.message.hasPrefix("'whn' is not known to this version: did you mean 'when'?") == true)
    }

    @Test func warningHasItsCodeAndRule() {
        let file = edited("version: 1\nrules:\n  - name: a\n    when: { type: [] }\n    then: [merge: { a: '.b' }]\n")
        #expect(file.diagnostics.allSatisfy { $0.severity == .warning && $0.code != nil })
        #expect(file.diagnostics.allSatisfy { $0.message.hasPrefix("rule 'a': ") })
    }
}

@Suite struct QuickFixTests {
    /// The text after the first fix whose title begins like this.
    private static func fixed(_ text: String, _ title: String, path: String = "r.yaml") -> String? {
        let file = edited(text, path: path)
        guard let fix = file.diagnostics.flatMap(\.fixes).first(where: { $0.title.hasPrefix(title) }) else {
            return nil
        }
        var bytes = file.lines.bytes
        for edit in fix.edits { bytes.replaceSubrange(file.lines.range(of: edit.range), with: edit.newText.utf8) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func misspeltNamesAreReplaced() {
        let text = "version: 1\nrules:\n  - name: a\n    whn: { '🍎': { $rgex: a } }\n    then: []\n"
        #expect(Self.fixed(text, "Write 'when'") == text.replacing("whn", with: "when"))
        let valid = text.replacing("whn", with: "when")
        #expect(Self.fixed(valid, "Write '$regex'") == valid.replacing("$rgex", with: "$regex"))
        let json = #"{"version": 1, "rules": [{"name": "a", "whn": {}, "then": []}]}"#
        #expect(Self.fixed(json, "Write 'when'", path: "r.json") == json.replacing("whn", with: "when"))
    }

    @Test func spacesAreWritten() {
        let text = "version: 1\nrules:\n  - name: a\n    when: { type:task }\n    then: []\n"
        #expect(Self.fixed(text, "Write a space") == text.replacing("type:", with: "type: "))
        let last = text.replacing("type:", with: "type: ") + "    on_error:skip\n"
        #expect(Self.fixed(last, "Write a space") == last.replacing("on_error:", with: "on_error: "))
        let tab = "version: 1\nrules:\n  - name: a\n\twhen: {}\n    then: []\n"
        #expect(Self.fixed(tab, "Indent with spaces") == tab.replacing("\t", with: "  "))
    }

    @Test(arguments: [
        ("    name: a\n", "    name: a\n    allow: [fires-again]\n"),
        ("    name: a\n    allow: []\n", "    name: a\n    allow: [fires-again]\n"),
        ("    name: a\n    allow: [regex]\n", "    name: a\n    allow: [regex, fires-again]\n"),
        ("    name: a\n    allow:\n      - regex\n", "    name: a\n    allow:\n      - regex\n      - fires-again\n"),
    ])
    func warningIsAccepted(before: String, after: String) {
        let start = "version: 1\nrules:\n  -\n"
        let end =
            "    when: { type: task }\n    then: [webhook: { url: 'https://example.org' }, merge: { at: { jq: $now } }]\n"
        let found = edited(start + before + end).diagnostics.compactMap(\.code)
        guard found.contains("fires-again") else {
            Issue.record("\(edited(start + before + end).diagnostics)")
            return
        }
        let result = Self.fixed(start + before + end, "Accept this warning: allow: [fires-again]")
        #expect(result == start + after + end)
        #expect(!edited(result ?? "").diagnostics.compactMap(\.code).contains("fires-again"))
    }
}

@Suite struct TextLinesTests {
    private static let text = "a\r\n🍎é\u{2028}x\rb\n"

    @Test func positionsAndOffsetsAgree() {
        for unit in [ColumnUnit.utf8, .utf16] {
            let lines = TextLines(Array(Self.text.utf8), unit: unit)
            #expect(lines.count == 4)
            for offset in 0...lines.bytes.count {
                let isWithin = offset < lines.bytes.count && lines.bytes[offset] & 0xC0 == 0x80
                let isInBreak = offset == 2
                if isWithin || isInBreak { continue }
                #expect(lines.offset(of: lines.position(at: offset)) == offset, "\(offset)")
            }
        }
    }

    @Test func columnsAreCut() {
        let lines = TextLines(Array(Self.text.utf8), unit: .utf16)
        #expect(lines.offset(of: TextPosition(line: 0, column: 9)) == 1)
        // Within a pair of surrogates.
        #expect(lines.offset(of: TextPosition(line: 1, column: 1)) == 3)
        #expect(lines.offset(of: TextPosition(line: 99, column: 0)) == lines.bytes.count)
        #expect(lines.position(at: 9) == TextPosition(line: 1, column: 3))
    }

    @Test func errorsAfterALineSeparatorAreAtTheirPlace() {
        let file = edited("version: 1 # \u{2028}\nrules:\n  - name: a\n    whn: {}\n    then: []\n")
        let found = file.diagnostics.first { $0.message.contains("whn") }
        #expect(found.map { file.lines.text(file.lines.range(of: $0.range)) } == "whn")
    }

    @Test func errorsAfterAByteOrderMarkAreAtTheirPlace() {
        let file = edited("\u{FEFF}vrsion: 1\nrules: []\n")
        let found = file.diagnostics.first { $0.message.contains("vrsion") }
        #expect(found.map { file.lines.text(file.lines.range(of: $0.range)) } == "vrsion")
    }
}

@Suite struct RunTests {
    private static let text =
        "version: 1\nrules:\n  - name: a\n    when: { type: task }\n    then: [merge: { b: { jq: '.c + 1' } }]\ntests:\n"
        + "  - { name: good, given: { _id: t, type: task, c: 1 }, expect: { patch: [{ op: add, path: /b, value: 2 }] } }\n"
        + "  - { name: bad, given: { _id: t, type: task, c: 1 }, expect: { fired: [] } }\n"

    @Test func oneTestIsRun() async {
        let file = edited(Self.text)
        let good = await file.run(test: 0, now: 0)
        #expect(good == .init(hasPassed: true, text: "the test 'good' passed"))
        let bad = await file.run(test: 1, now: 0)
        #expect(bad.text == "the test 'bad' failed: fired differs from what the test expects\nfired:\n  + a")
        #expect(await file.run(test: 2, now: 0).hasPassed == false)
    }

    @Test func invalidFileSaysWhy() async {
        let outcome = await edited(Self.text.replacing("when", with: "whn")).run(test: 0, now: 0)
        #expect(
            outcome.text.hasPrefix("the test can't run, because the rule file is not valid: line 3: 'when' is missing"))
    }
}
