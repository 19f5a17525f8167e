import RuleEditing
import Testing

@Suite struct CompletionTests {
    @Test func emptyFileHasTheKeysOfAFile() {
        let labels = CursorText("‸").labels
        #expect(labels.contains("version"))
        #expect(labels.contains("rules"))
        #expect(labels.contains("a rule file"))
    }

    @Test func keysOfTheFileWithoutThoseThatAreThere() {
        let labels = CursorText("version: 1\nru‸\ntests: []\n").labels
        #expect(labels.contains("rules"))
        #expect(!labels.contains("version"))
        #expect(!labels.contains("tests"))
    }

    @Test func keysThatAMappingHas() {
        #expect(CursorText("version: 1\nkind: mapping\n‸").labels.contains("otherwise"))
        #expect(!CursorText("version: 1\n‸").labels.contains("otherwise"))
    }

    @Test(arguments: [
        "  - na‸", "  - ‸", "  - when: {}\n    ‸", "  - when: {}\n    na‸\n    then: []\n", "  - na‸\n    when: {}\n",
        "  - { na‸", "  - { when: {}, ‸ }", "  - { na‸, when: {} }", "  - when: { a: [\n    na‸",
        "  - when: \"a\n    n‸",
    ])
    func keysOfARule(rules: String) {
        let labels = CursorText(beginning + rules).labels
        #expect(labels.contains("name"), "\(labels)")
        #expect(labels.contains("unless"), "\(labels)")
        #expect(labels.contains("when") == !rules.contains("when"), "\(labels)")
    }

    @Test func keyIsReplacedWithItsColon() {
        let text = CursorText(beginning + "  - na‸\n    when: {}\n")
        #expect(text.text(choosing: "name") == beginning + "  - name: \n    when: {}\n")
        let known = CursorText(beginning + "  - na‸me: a\n")
        #expect(known.text(choosing: "name") == beginning + "  - name: a\n")
    }

    @Test func listIsIndented() {
        let text = CursorText(beginning + "  - name: a\n    th‸\n")
        #expect(text.text(choosing: "then") == beginning + "  - name: a\n    then:\n      - \n")
        let test = CursorText("version: 1\ntests:\n  - name: a\n    exp‸\n")
        #expect(test.text(choosing: "expect") == "version: 1\ntests:\n  - name: a\n    expect:\n      \n")
    }

    @Test(arguments: [
        "    then:\n      - ‸", "    then:\n      - mer‸", "    then: [ ‸", "    then: [mer‸]", "    then: [{ ‸ }]",
        "    then:\n    - ‸", "    then:\n      - delete: {}\n      - mer‸\n",
    ])
    func actionsInThen(then: String) {
        let completions = CursorText(beginning + "  - name: a\n    when: {}\n" + then).completions
        #expect(
            Set(["attach", "merge", "webhook", "for_each"]).isSubset(of: completions.map(\.label)), "\(completions)")
        #expect(completions.first { $0.label == "merge" }?.documentation.contains("RFC 7396") == true)
    }

    @Test func chosenActionIsCompleteAndIndented() {
        let text = CursorText(beginning + "  - name: a\n    then:\n      - att‸\n")
        let expected =
            "  - name: a\n    then:\n      - attach:\n          name: image\n          file: ../assets/apple.png\n"
        let flow = "  - name: a\n    then:\n      - attach: { name: image, file: ../assets/apple.png }\n"
        let result = text.text(choosing: "attach")
        #expect(result == beginning + expected || result == beginning + flow, "\(result ?? "")")
        let chosen = text.completions.first { $0.label == "attach" }
        #expect(chosen?.snippet?.contains("${1:image}") == true)
        #expect(chosen?.kind == .action)
    }

    @Test func secondActionOfAnElementIsNotOffered() {
        let labels = CursorText(beginning + "  - name: a\n    then:\n      - merge: {}\n        ‸").labels
        #expect(labels == ["for_each"])
    }

    @Test(arguments: [
        "{ task: { $‸ } }", "{ task: { $‸", "{ task: {‸", "\n      task:\n        $‸",
        "\n      task:\n        $re‸: x\n",
        "{ task: { $exists: true, ‸",
    ])
    func operatorsOfASelector(when: String) {
        let labels = CursorText(beginning + "  - name: a\n    when: \(when)").labels
        #expect(labels.contains("$regex"), "\(labels)")
        #expect(labels.contains("$eq"), "\(labels)")
    }

    @Test func operatorsAroundFields() {
        let labels = CursorText(beginning + "  - name: a\n    when: { $‸ }\n    then: []\n").labels
        #expect(labels.prefix(4) == ["$and", "$or", "$nor", "$not"])
        #expect(!labels.contains("$regex"))
    }

    @Test func fieldsOfTheDocumentsInTheFile() {
        let text = beginning + "  - name: a\n    when: { ‸ }\ntests:\n  - given: { _id: t1, type: task, dueAt: 1 }\n"
        #expect(CursorText(text).labels.contains("dueAt"))
    }

    @Test func valuesOfEnumsAndBooleans() {
        let rule = beginning + "  - name: a\n"
        #expect(CursorText(rule + "    on_error: ‸").labels == ["set-aside", "skip"])
        #expect(CursorText(rule + "    on_error: s‸\n    then: []\n").labels == ["set-aside", "skip"])
        #expect(CursorText(rule + "    on: [‸]").labels == ["change", "delete", "enter", "leave"])
        #expect(CursorText(rule + "    on: [change, d‸]").labels == ["delete", "enter", "leave"])
        #expect(CursorText(rule + "    when: { a: { $exists: ‸").labels == ["true", "false"])
        #expect(CursorText(rule + "    on: ‸").labels.contains("[enter]"))
        #expect(CursorText(rule + "    on:\n      - e‸").labels.contains("enter"))
        #expect(CursorText("version: ‸").text(choosing: "1") == "version: 1")
    }

    @Test func codesOfAllowWithTheirMeaning() {
        let completions = CursorText(beginning + "  - name: a\n    allow: [‸]\n").completions
        #expect(completions.count > 30)
        #expect(completions.allSatisfy { $0.kind == .warningCode && !$0.documentation.isEmpty })
        let code = completions.first { $0.label == "fires-again" }
        #expect(code?.documentation.contains("Codes of") == false)
    }

    @Test func namesOfRulesInTests() {
        let rules = beginning + "  - name: first\n    when: {}\n  - { name: 'the second', when: {} }\ntests:\n"
        #expect(CursorText(rules + "  - expect: { fired: [‸] }").labels == ["first", "the second"])
        #expect(CursorText(rules + "  - expect:\n      fired:\n        - ‸").labels == ["first", "the second"])
        #expect(CursorText(rules + "  - expect: { fired: [first, ‸ }").labels == ["the second"])
        #expect(CursorText(rules + "  - expect: { effects: [{ rule: ‸").labels == ["first", "the second"])
    }

    @Test func membersOfExpect() {
        let labels = CursorText("version: 1\ntests:\n  - name: a\n    expect: { ‸ }\n").labels
        #expect(Set(["fired", "patch", "document", "effects", "error"]).isSubset(of: labels))
        #expect(!labels.contains("documents"))
    }

    @Test func newElements() {
        #expect(CursorText(beginning + "  ‸").labels.contains("- a rule"))
        let text = CursorText(beginning + "  - name: a\n  ‸").text(choosing: "- a rule")
        #expect(
            text?.hasPrefix(beginning + "  - name: a\n  - name: name\n    when: { type: task }\n    then:\n") == true)
        #expect(CursorText("version: 1\nrules:\n- name: a\n‸").labels.contains("tests"))
        #expect(CursorText("version: 1\nrules:\n- name: a\n‸").labels.contains("- a rule"))
    }

    @Test func jsonKeysAndValuesHaveQuotes() {
        let text = CursorText(#"{ "version": 1, "rules": [{ "na‸" }] }"#, path: "r.json")
        #expect(text.text(choosing: "name") == #"{ "version": 1, "rules": [{ "name" }] }"#)
        let bare = CursorText(#"{ "version": 1, ‸"#, path: "r.json")
        #expect(bare.text(choosing: "rules") == #"{ "version": 1, "rules": "#)
        let value = CursorText(#"{ "rules": [{ "on_error": ‸ }] }"#, path: "r.json")
        #expect(value.text(choosing: "skip") == #"{ "rules": [{ "on_error": "skip" }] }"#)
    }

    @Test func nothingInTextAndComments() {
        #expect(CursorText(beginning + "  - name: a # na‸").labels == [])
        #expect(CursorText(beginning + "  - name: a\n    if: |\n      .a na‸").labels == [])
        #expect(CursorText(beginning + "  - name: na‸").labels == ["complete-missing"])
    }

    @Test func emojiBeforeTheCursor() {
        let text = "  - { name: '🍎🍏', th‸ }"
        #expect(CursorText(beginning + text).labels.contains("then"))
        #expect(CursorText(beginning + text, columns: .utf8).labels.contains("then"))
        let chosen = CursorText(beginning + text).text(choosing: "then")
        #expect(chosen?.hasPrefix(beginning + "  - { name: '🍎🍏', then: ") == true)
    }
}
