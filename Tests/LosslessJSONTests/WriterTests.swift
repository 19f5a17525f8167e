import LosslessJSON
import Testing

@Suite struct WriterTests {
    @Test func commasSeparateValues() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("a", integer: -1)
            writer.member("b", string: "x")
            writer.member("c", bool: true)
            writer.name("d")
            writer.array { writer in
                writer.null()
                writer.array { _ in }
                writer.object { _ in }
                writer.integer(UInt64.max)
                writer.string("y")
                writer.bool(false)
            }
            writer.member("e", raw: "1.10".utf8)
            writer.name("f")
            writer.object { $0.member("g", integer: 0) }
        }
        let expected =
            #"{"a":-1,"b":"x","c":true,"d":[null,[],{},18446744073709551615,"y",false],"e":1.10,"f":{"g":0}}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        ("", #""""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t", #""\n\r\t""#),
        ("\0\u{01}\u{08}\u{0C}\u{1F}", #""\u0000\u0001\u0008\u000c\u001f""#),
        ("\u{7F}é日😀\u{2028}", "\"\u{7F}é日😀\u{2028}\""),
    ])
    func onlyRequiredCharactersAreEscaped(characters: String, expected: String) {
        var writer = JSONWriter()
        writer.string(characters)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
        var name = JSONWriter()
        name.object { $0.member(characters, integer: 1) }
        #expect(String(decoding: name.bytes, as: UTF8.self) == "{\(expected):1}")
    }

    @Test func writtenTextReadsTheSame() throws {
        for value in (0...0x2FF).compactMap(Unicode.Scalar.init) {
            let characters = "x\(value)y\(value)"
            var writer = JSONWriter()
            writer.string(characters)
            #expect(try JSONText(writer.bytes).root.utf8 == Array(characters.utf8))
        }
    }

    @Test func errorOfAClosureIsRethrown() {
        var writer = JSONWriter()
        #expect(throws: Unexpected.self) { try writer.array { _ in throw Unexpected("stop") } }
    }
}
