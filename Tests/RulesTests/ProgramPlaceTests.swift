import Testing

@testable import Rules

/// Faults of jq programs name the line and the column in the rule file.
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
    func faultsStandWhereJQFindsThem(action: String, fault: String) {
        let found = faults("version: 1\nrules:\n  - name: a\n    when: {}\n    then:\n" + action)
        #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("r.yaml:" + fault) }, "\(found)")
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
    func aProgramsPathsAreThoseFromTheDocument(program: String, paths: [String]) {
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
