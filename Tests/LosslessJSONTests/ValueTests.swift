import Testing

@testable import LosslessJSON

/// Navigation on the tape, and the content of strings.
@Suite struct ValueTests {
    private let document = #"{"a":1,"b":[10,{"x":[]},[30]],"\u0063":"c","a":2,"":{},"é":null}"#

    @Test func membersIncludeDuplicatesInTextOrder() throws {
        let root = try json(document)
        #expect(root.members.map { $0.name.string } == ["a", "b", "c", "a", "", "é"])
        #expect(root.members.map { String(decoding: $0.value.bytes, as: UTF8.self) }.first == "1")
        #expect(root.childCount == 6)
        #expect(Array(root.elements).isEmpty)
    }

    @Test func lastDuplicateMemberWins() throws {
        #expect(try json(document)["a"]?.integer == 2)
        #expect(try json(document).member(named: Array("a".utf8))?.integer == 2)
        #expect(try json(document).duplicateMemberName == "a")
    }

    @Test(arguments: ["c", "", "é"]) func namesAreFoundByTheirCharacters(name: String) throws {
        #expect(try json(document)[name] != nil)
        #expect(try json(document).member(named: Array(name.utf8)) != nil)
    }

    @Test(arguments: ["d", "C", "\\u0063", "e\u{301}", "a\0"]) func otherNamesAreNotFound(name: String) throws {
        #expect(try json(document)[name] == nil)
        #expect(try json(document).member(named: Array(name.utf8)) == nil)
    }

    @Test func elementsAreFoundByPosition() throws {
        let array = try #require(try json(document)["b"])
        #expect(array.childCount == 3)
        #expect(array.element(0)?.integer == 10)
        #expect(array.element(1)?["x"]?.childCount == 0)
        #expect(array.element(2)?.element(0)?.integer == 30)
        #expect(array.element(3) == nil)
        #expect(array.element(-1) == nil)
        #expect(array.element(.max) == nil)
        #expect(try json("{}").element(0) == nil)
    }

    @Test func scalarsHaveNoChildren() throws {
        for text in ["1", "\"a\"", "null", "true"] {
            let value = try json(text)
            #expect(value["a"] == nil)
            #expect(value.element(0) == nil)
            #expect(value.childCount == 0)
            #expect(Array(value.members).isEmpty)
        }
    }

    @Test func tapeComparesUnescapedNames() throws {
        let bytes = Array(#"["seq","se\u0071","\n","s"]"#.utf8)
        var tape = JSONTape()
        _ = try tape.scanDocument(bytes.span)
        #expect((1...4).map { tape.isString($0, "seq", in: bytes) } == [true, false, false, false])
        #expect(!tape.isString(3, "\\n", in: bytes))
        #expect(!tape.isString(0, "", in: bytes))
    }

    @Test(arguments: [
        (#""""#, ""), (#""plain""#, "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u0041\u00e9\u20AC""#, "Aé€"),
        (#""\u0000x""#, "\0x"), (#""\ud83d\ude00""#, "😀"), (#""\uD800\uDC00\uDBFF\uDFFF""#, "\u{10000}\u{10FFFF}"),
        // A lone surrogate has no meaning, and equals no text.
        (#""\ud800""#, "\u{FFFD}"), (#""\udc00x""#, "\u{FFFD}x"), (#""\ud800\u0041""#, "\u{FFFD}A"),
        (#""\ud800A""#, "\u{FFFD}A"),
        (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
        (#""\ud83d\n""#, "\u{FFFD}\n"),
        (#""é\u00e9日""#, "éé日"),
    ])
    func stringsAreUnescaped(text: String, expected: String) throws {
        let value = try json(text)
        #expect(value.string.map { Array($0.utf8) } == Array(expected.utf8))
        #expect(value.utf8 == Array(expected.utf8))
        #expect(value.isString(expected) == value.isText)
        #expect(!value.isString(expected + "x"))
        #expect(value.isEscaped == text.contains("\\"))
    }

    @Test func otherValuesHaveNoCharacters() throws {
        #expect(try json("1").string == nil)
        #expect(try json("[]").utf8 == nil)
        #expect(try !json("1").isString("1"))
    }

    @Test(arguments: [
        ("42", 42), ("-0", 0), ("9223372036854775807", Int.max), ("9223372036854775808", nil), ("1.0", nil),
        ("1e2", nil), ("\"1\"", nil),
    ])
    func integersMustFitIntoInt(text: String, expected: Int?) throws {
        #expect(try json(text).integer == expected)
    }

    @Test func copyIsIndependent() throws {
        let part = try #require(try json(document)["b"]?.element(1))
        let copy = try #require(part.copied())
        #expect(copy.string == #"{"x":[]}"#)
    }
}
