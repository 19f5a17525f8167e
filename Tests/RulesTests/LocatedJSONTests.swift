import Testing

@testable import Rules

@Suite struct PlacedJSONTests {
    @Test func everyValueHasItsPosition() throws {
        let yaml = "# a comment\nä:\n  - 1.10\n  - { b: \"c\" }\n"
        let json = try LocatedJSON(yaml: Array(yaml.utf8), path: "file")
        let text = #"{"ä":[1.10,{"b":"c"}]}"#
        #expect(String(decoding: json.text, as: UTF8.self) == text)
        func place(_ part: String) -> SourcePosition? {
            json.text.firstRange(of: Array(part.utf8)).flatMap { json.position(at: $0.lowerBound) }
        }
        #expect(place("{\"ä") == SourcePosition(line: 2, column: 1))
        #expect(place("[") == SourcePosition(line: 3, column: 3))
        #expect(place("1.10") == SourcePosition(line: 3, column: 5))
        #expect(place("{\"b") == SourcePosition(line: 4, column: 5))
        #expect(place("\"b") == SourcePosition(line: 4, column: 7))
        #expect(place("\"c") == SourcePosition(line: 4, column: 10))
        #expect(json.position(at: 1) == SourcePosition(line: 2, column: 1))
        #expect(json.position(at: json.text.count) == nil)
    }

    @Test(arguments: [("a: [", "file:"), ("a: 1\na: 2", "file:1:1: the key 'a'"), ("", "file:1:1: ")])
    func invalidYAMLIsRefused(yaml: String, beginning: String) throws {
        let error = #expect(throws: RuleFilesError.self) { try LocatedJSON(yaml: Array(yaml.utf8), path: "file") }
        #expect(error?.kind == .invalid)
        #expect(error?.description.hasPrefix(beginning) == true, "\(error?.description ?? "")")
    }

    @Test func invalidUTF8IsRefused() {
        #expect(throws: RuleFilesError.self) { try LocatedJSON(yaml: [0x61, 0xFF], path: "file") }
    }
}
