import LosslessJSON
import Testing

@Suite struct LayoutTests {
    @Test(arguments: [
        ("1.10", ["1.10"]), (" {} ", ["{}"]), ("[ ]", ["[]"]), (#"[1, "a" ,null]"#, [#"[1, "a", null]"#]),
        (#"{"a":1,"b":{"c":[]}}"#, ["{", #"  "a": 1,"#, #"  "b": {"#, #"    "c": []"#, "  }", "}"]),
        ("[[1],{}]", ["[", "  [1],", "  {}", "]"]), (#""\u00e9\n""#, [#""\u00e9\n""#]),
        ("\"\u{7F}\u{9B}\u{202E}\u{2066}é\"", [#""\u007f\u009b\u202e\u2066é""#]),
        ("{\"\u{202A}\":0}", ["{", #"  "\u202a": 0"#, "}"]),
    ])
    func valuesAreLaidOut(text: String, expected: [String]) throws {
        #expect(try json(text).indentedLines() == expected)
    }

    @Test func longStringsAreCutBetweenCharacters() throws {
        #expect(try json(#""abcdef""#).indentedLines(stringLimit: 3) == [#""abc"… (6 bytes)"#])
        #expect(try json(#""aéé""#).indentedLines(stringLimit: 2) == [#""a"… (5 bytes)"#])
        #expect(try json(#""abc""#).indentedLines(stringLimit: 3) == [#""abc""#])
    }

    @Test func longArraysTakeOneLinePerElement() throws {
        let text = "[" + Array(repeating: "1000000", count: 20).joined(separator: ",") + "]"
        #expect(try json(text).indentedLines().count == 22)
    }
}
