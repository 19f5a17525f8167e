import Testing

@testable import RuleEditing

@Suite struct OutlineTests {
    /// The names and elements as nested brackets.
    private static func shape(_ text: String, isJSON: Bool = false) -> String {
        let outline = OutlineReader(Array(text.utf8), isJSON: isJSON).outline
        func shape(_ index: Int) -> String {
            let node = outline[index]
            let children = node.children.map { child in
                (outline[child].name.map { $0 + (outline[child].hasColon ? ":" : "?") } ?? "") + shape(child)
            }
            return switch node.content {
            case .missing: "_"
            case .scalar: "."
            case .object: "{" + children.joined(separator: " ") + "}"
            case .list: "[" + children.joined(separator: " ") + "]"
            }
        }
        return shape(0)
    }

    @Test(arguments: [
        ("", "_"),
        ("a: 1\nb: 2\n", "{a:. b:.}"),
        ("a:\n  b: 1\n  c:\n    - x\n    - y: 1\n      z: 2\nd: 3\n", "{a:{b:. c:[. {y:. z:.}]} d:.}"),
        ("a:\n- x\n- y\nb: 1\n", "{a:[. .] b:.}"),
        ("a: { b: [1, {c: d}], e: 'x, y' } # }\nf: 1\n", "{a:{b:[. {c:.}] e:.} f:.}"),
        ("a: [delete: {}, merge: {b: 1}]\n", "{a:[{delete:{}} {merge:{b:.}}]}"),
        ("a: |\n  b: 1\n\n  c\nd: >-\n  e: 1\n", "{a:. d:.}"),
        ("a: {\n  b: 1,\n  c: 2\n}\nd: 1\n", "{a:{b:. c:.} d:.}"),
        ("a: \"x: \\\" y\"\n'b c': 1\n", "{a:. b c:.}"),
        ("- - a: 1\n    b: 2\n  - c\n", "[[{a:. b:.} .]]"),
        ("a:\n  long text\n  that goes on\nb: 1\n", "{a:. b:.}"),
        ("---\na: 1\n", "{a:.}"),
        ("\u{FEFF}a: 1\n", "{a:.}"),
        ("a: &x { b: 1 }\nc: *x\n", "{a:{b:.} c:.}"),
        ("a: 1\r\nb:\r\n  - c\r\n", "{a:. b:[.]}"),
    ])
    func validYAML(text: String, expected: String) { #expect(Self.shape(text) == expected) }

    /// What is not valid stays where it is, and other lines keep their places.
    @Test(arguments: [
        ("a: 1\nb\nc: 2\n", "{a:. b?_ c:.}"),
        ("a: { b: 1\nc: 2\n", "{a:{b:.} c:.}"),
        ("a:\n  - b: [1, 2\n  - c: 3\nd: 1\n", "{a:[{b:[. .]} {c:.}] d:.}"),
        ("a: \"x\nb: 1\n", "{a:. b:.}"),
        ("a:\n    - b: 1\n  - c: 2\n", "{a:[{b:.} {c:.}]}"),
        ("- na\n  when: 1\n", "[{na? when:.}]"),
        ("a: }\nb: ]\n", "{a:. b:.}"),
        ("a:\n\t- b\nc: 1\n", "{a:[.] c:.}"),
        ("a: {]\nb: 1\n", "{a:{} b:.}"),
    ])
    func invalidYAML(text: String, expected: String) {
        #expect(Self.shape(text).replacing("?_", with: "?") == expected.replacing("?_", with: "?"))
    }

    @Test func json() {
        #expect(Self.shape(#"{"a": {"b": [1, "x"], "c": null}, "d": true}"#, isJSON: true) == "{a:{b:[. .] c:.} d:.}")
        #expect(Self.shape("{\"a\": [\n{\"b\": 1,\n\"c\":\n}", isJSON: true) == "{a:[{b:. c:_}]}")
    }

    /// Lenses look at the way to each value, so a way must not search for its elements.
    @Test func wayLeadsToItsNode() {
        for (text, isJSON) in [
            ("a:\n  - b: [x, { c: y }]\n  - z\nd: [[1, 2], 3]\n", false), ("{\"a\": [[1], {}]}", true),
        ] {
            let outline = OutlineReader(Array(text.utf8), isJSON: isJSON).outline
            for index in outline.nodes.indices {
                #expect(outline.node(at: outline.path(to: index)) == index)
                for (place, child) in outline[index].children.enumerated() { #expect(outline.places[child] == place) }
            }
            #expect(outline.node(at: [.member("none"), .element(0)]) == nil)
        }
    }

    /// Every prefix and every deletion of a byte can be read, and no range is outside of the text.
    @Test func anyTextCanBeRead() {
        let text = "a: {b: [1, 'x\n y', \"z\"], c}\nd:\n  - e: |\n      f\n  - g: h\n- i\n\tj: k # l\n"
        let bytes = Array(text.utf8)
        for length in 0...bytes.count {
            for removed in stride(from: 0, to: length, by: 3) {
                var part = Array(bytes[..<length])
                part.remove(at: removed)
                for isJSON in [false, true] {
                    let reader = OutlineReader(part, isJSON: isJSON)
                    for node in reader.outline.nodes { #expect(node.range.upperBound <= part.count) }
                    #expect(reader.cursor.word.upperBound <= part.count)
                }
            }
        }
    }

    @Test(arguments: ["[", "{", "- ", "{a: ", "\"", "'", "a: \"", "[{", "a:\n", "|", "- |\n", "\\\"", "a: b: ", "? "])
    func hostileTextTakesLittleTime(part: String) {
        let text = String(repeating: part, count: 200_000 / part.utf8.count)
        let file = edited(text)
        #expect(file.tests.isEmpty)
        _ = file.completions(at: TextPosition(line: 0, column: 100_000))
        _ = file.hover(at: TextPosition(line: 0, column: 100_000))
    }
}
