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
