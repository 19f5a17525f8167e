import Testing

@testable import Rules

/// Errors of jq programs name the line and the column in the rule file.
@Suite struct ProgramPlaceTests {
    @Test(arguments: [
        (
            "      - merge:\n          jq: |\n            {a: 1,\n             b: nope}\n",
            "9:17: not a jq program: nope/0 is"
        ),
        (
            "      - merge:\n          jq: |2\n              {a: 1,\n               b: (nope)}\n",
            "9:20: not a jq program: "
        ),
        ("      - merge: {jq: '{a: nope}'}\n", "6:26: not a jq program: nope/0 is not defined"),
        ("      - merge: {jq: \"{a: $x}\"}\n", "6:26: not a jq program: $x is not defined"),
        ("      - merge: { a: { jq: .b | nope } }\n", "6:32: not a jq program: nope/0 is not defined"),
        ("      - merge:\n          jq: |\n            # first\n            {a: 1}}\n", "9:"),
        ("      - merge:\n          jq: >\n            {a: 1,\n            b: nope}\n", "7:15: not a jq program: line"),
    ])
    func errorsHaveThePositionInTheRuleFile(action: String, error: String) {
        let found = errors("version: 1\nrules:\n  - name: a\n    when: {}\n    then:\n" + action)
        #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("r.yaml:" + error) }, "\(found)")
    }

    @Test(
        arguments: [
            ("$users", 0, "$users is not defined; known here: $now, $change, $match"),
            (".a | $chnage.seq", 5, "$chnage is not defined; did you mean $change? known here: "),
            (".a &", 3, "'&' is not allowed here; write 'and'"),
            (".a && .b", 3, "'&&' is not allowed here; write 'and'"),
            (".a || .b", 3, "'||' is not allowed here; write 'or'"),
            ("'x'", 0, "''' is not allowed here; jq strings need double"),
            (".a b", 3, "'b' is not allowed here; an operator such as '|' or ',' may be missing before it"),
            ("{a b}", 3, "'b' is not allowed here; a comma or a '}' may be missing"),
            (".a)", 2, "')' is not allowed here; remove it"),
            (".a + .b == = 3", 11, "'=' is not allowed here"),
            (".a != null ? 1 : 2", 13, "'1' is not allowed here; write if"),
            ("(.a", 3, "the program ends too early; write the missing ')'"),
            ("[.a, {b: 1}", 11, "write the missing ']'"),
            ("if .a then 1 else 2", 19, "write the missing 'end'"), (".a |", 4, "something is missing after '|'"),
            ("\"abc", 4, "a string in it is not closed; write the missing '\"'"),
            ("if .a then 1 end", 13, "'end' is not allowed here; 'if' needs 'else'"),
            ("map(.a; 1)", 0, "map/2 is not defined; correct the name or the number of arguments"),
            ("\"\\x\"", 0, "a string in it has an escape that jq does not know; write \\\\ for a backslash"),
            ("open", 0, "open/0 is not defined; write \"open\" if it is a string, or .open if it is a field"),
            (
                ".state == open", 10,
                "open/0 is not defined; write \"open\" if it is a string, or .open if it is a field"
            ),
            ("{a: open}", 4, "open/0 is not defined; write \"open\" if it is a string, or .open if it is a field"),
            (".a | nope", 5, "nope/0 is not defined; correct the name"),
            ("map(nope)", 4, "nope/0 is not defined; correct the name"),
            (".user-name", 6, "name/0 is not defined; a name with '-' needs quotes: .\"user-name\""),
            (".a.b.[0]", 5, "'.[' is not allowed here; remove the '.' before the bracket"),
            (".a ?? 1", 6, "'1' is not allowed here; write // for ??"),
            ("break $x", 0, "the label $x is not defined"),
            ("import \"a\" as a; 1", nil, "module not found: a; programs can't import modules"),
        ] as [(String, Int?, String)])
    func jqErrorsAreExplainedInPlainWords(program: String, offset: Int?, message: String) {
        let found = errors("version: 1\nrules:\n  - name: a\n    when: {}\n    then: []\n    if: |\n      \(program)\n")
        let place = offset.map { "7:\($0 + 7)" } ?? "6:9"
        #expect(found.count == 1)
        #expect(
            found.allSatisfy { $0.hasPrefix("r.yaml:\(place): not a jq program: ") && $0.contains(message) }, "\(found)"
        )
    }

    @Test func slurpNamesAreKnownVariables() {
        let text = "version: 1\nkind: mapping\nslurp: [users]\nrules: [{name: a, when: {}, if: $user, then: []}]\n"
        let found = errors(text)
        #expect(found.count == 1)
        #expect(
            found.allSatisfy { $0.contains("did you mean $users? known here: $now, $change, $match, $users") },
            "\(found)")
    }

    @Test(arguments: [
        (".a.b == $now and .c[0] != 1", [".a.b", ".c[0]"]), ("[.items[].price] | add", [".items"]),
        (".n + 1", [".n"]), (".a // .b", [".a", ".b"]), (". as $d | .a > $d.b", [".a"]),
        ("map(.done) | all", []), ("select(.a) | .b", [".a"]),
        ("\"x\\(.a) .b\" == .c", [".a", ".c"]),
        ("if .a | not then .b else .c end", [".a", ".b", ".c"]),
        (".[\"odd key\"] > .\"b\"", [".odd key", ".b"]),
        ("reduce .l[] as $x (0; . + $x.n)", [".l"]), ("# .a\n.b", [".b"]), ("def f: .a; f", []),
        ("(.a | length) > .b", [".a", ".b"]), (".a |= .b", [".a"]), ("", []), (")(", []),
    ])
    func pathsStartAtTheDocument(program: String, paths: [String]) {
        let reading = ProgramReading(program)
        let spelled = reading.paths.map { path in
            path.map { step in
                switch step {
                case .member(let name): ".\(name)"
                case .element(let position): "[\(position)]"
                }
            }.joined()
        }
        #expect(spelled == paths)
    }
}
