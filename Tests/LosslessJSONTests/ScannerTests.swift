import LosslessJSON
import Testing

/// Valid and invalid JSON, and the offset of the first error.
@Suite struct ScannerTests {
    @Test(arguments: [
        "{}", "[]", " [ ] ", "\t{\r\n}", "[1,2]", "{\"a\":{\"b\":[]},\"c\":null}", " 1 ", "0", "-0", "-0.5e+7", "1E400",
        "\"\"", "\"\\u00e9\"", "\"\\ud800\"", "\"\\uDC00\\ud800\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\u{7F}\u{80}\u{FFFF}\"",
        "true", "false", "null", "[[[[]]],{}]", "{\"\":0,\"\":1}", "\"\u{10FFFF}\"", "[0,-1,1.5,1e5,1E-5]",
    ])
    func validJSONIsAccepted(text: String) throws {
        let scanned = try JSONText(text)
        #expect(scanned.bytes == Array(text.utf8))
    }

    @Test(
        arguments: [
            // Structure.
            ("", .unexpectedEnd, 0), (" \n", .unexpectedEnd, 2), ("{} x", unexpected("x", .endOfText), 3),
            ("{}{}", unexpected("{", .endOfText), 2), ("[1]]", unexpected("]", .endOfText), 3),
            ("]", unexpected("]", .value), 0), (",", unexpected(",", .value), 0), ("[1,]", unexpected("]", .value), 3),
            ("[,1]", unexpected(",", .valueOrEndOfArray), 1), ("[x]", unexpected("x", .valueOrEndOfArray), 1),
            ("[[1],x]", unexpected("x", .value), 5), ("[1 2]", unexpected("2", .commaOrEndOfArray), 3),
            ("[1}", unexpected("}", .commaOrEndOfArray), 2), ("{\"a\":1]", unexpected("]", .commaOrEndOfObject), 6),
            ("{\"a\":1,}", unexpected("}", .memberName), 7), ("{,}", unexpected(",", .memberNameOrEnd), 1),
            ("{a:1}", unexpected("a", .memberNameOrEnd), 1), ("{'a':1}", unexpected("'", .memberNameOrEnd), 1),
            ("{\"a\" 1}", unexpected("1", .colon), 5), ("{\"a\":}", unexpected("}", .value), 5),
            ("{\"a\":1 \"b\":2}", unexpected("\"", .commaOrEndOfObject), 7),
            ("{\"a\":1,2:3}", unexpected("2", .memberName), 7),
            ("[1] // no", unexpected("/", .endOfText), 4), ("/**/1", unexpected("/", .value), 0),
            ("\u{FEFF}{}", .unexpectedByte(0xEF, expected: .value), 0),
            ("[\u{A0}1]", .unexpectedByte(0xC2, expected: .valueOrEndOfArray), 1),
            ("{}\0", .unexpectedByte(0, expected: .endOfText), 2),
            ("\u{0B}1", .unexpectedByte(0x0B, expected: .value), 0),
            // Words.
            ("nul", .unexpectedEnd, 3), ("nulx", unexpected("x", .literal), 3), ("True", unexpected("T", .value), 0),
            ("truefalse", unexpected("f", .endOfText), 4), ("NaN", unexpected("N", .value), 0),
            ("tRue", unexpected("R", .literal), 1),
            ("-Infinity", unexpected("I", .digit), 1), ("undefined", unexpected("u", .value), 0),
            // Numbers.
            ("01", unexpected("1", .endOfText), 1), ("[00]", unexpected("0", .commaOrEndOfArray), 2),
            ("-", .unexpectedEnd, 1),
            ("-a", unexpected("a", .digit), 1), ("+1", unexpected("+", .value), 0), (".5", unexpected(".", .value), 0),
            ("5.", .unexpectedEnd, 2), ("[5.]", unexpected("]", .digit), 3), ("1e", .unexpectedEnd, 2),
            ("1e+", .unexpectedEnd, 3),
            ("1e+]", unexpected("]", .digit), 3), ("1.e5", unexpected("e", .digit), 2),
            ("0x10", unexpected("x", .endOfText), 1),
            ("-01", unexpected("1", .endOfText), 2), ("1.5.5", unexpected(".", .endOfText), 3),
            // Strings.
            ("\"", .unexpectedEnd, 1), ("\"a\\", .unexpectedEnd, 3), ("\"\\u12", .unexpectedEnd, 5),
            ("\"\\x\"", .invalidEscape, 1),
            ("\"a\\u12g4\"", .invalidEscape, 2), ("\"\\U0041\"", .invalidEscape, 1),
            ("\"\\\u{00}\"", .invalidEscape, 1),
            ("\"a\nb\"", .controlCharacterInString(0x0A), 2),
            ("\"12345678\u{1F}\"", .controlCharacterInString(0x1F), 9),
            ("\"\0\"", .controlCharacterInString(0), 1), ("'a'", unexpected("'", .value), 0),
        ] as [(String, JSONError.Reason, Int)])
    func invalidJSONIsRefusedWithReasonAndOffset(text: String, reason: JSONError.Reason, offset: Int) throws {
        #expect(try error(of: text.utf8) == JSONError(reason, at: offset))
    }

    @Test(
        arguments: [
            // Lone continuation, overlong, surrogates, beyond U+10FFFF, bytes that never occur (Unicode 15, table 3-7).
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2, 0x22], [0xE0, 0x9F, 0xBF], [0xE0, 0x80, 0x80],
            [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xEF, 0xBF, 0x22], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF, 0xFE], [0xF0, 0x9F, 0x98, 0x22], [0xE2, 0x28, 0xA1],
        ] as [[UInt8]])
    func invalidUTF8IsRefused(sequence: [UInt8]) throws {
        for padding in [0, 1, 7, 8, 9] {
            let text = Array("\"".utf8) + Array(repeating: 0x61, count: padding) + sequence + Array("12345678\"".utf8)
            #expect(try error(of: text) == JSONError(.invalidUTF8, at: 1 + padding))
        }
    }

    @Test func everyUnicodeScalarIsAcceptedAtEveryAlignment() throws {
        for value in Swift.stride(from: UInt32(0x20), through: 0x10FFFF, by: 61) {
            guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else { continue }
            let text = "\"" + String(repeating: "x", count: Int(value % 9)) + String(scalar) + "\""
            #expect(scan(text.utf8).isSuccess, "U+\(String(value, radix: 16))")
        }
    }

    @Test func byteThatEndsAPlainRunIsFoundAtEveryAlignment() throws {
        for stop in UInt8.min...UInt8.max where stop < 0x20 || stop >= 0xF5 {
            for place in 0..<17 {
                var content = [UInt8](repeating: 0x21, count: 20)
                content[place] = stop
                #expect(try error(of: [0x22] + content + [0x22]).offset == 1 + place)
            }
        }
    }

    private static let wholeTexts = [
        #"{"seq":"12-g1AAAA","id":"caf\u00e9","changes":[{"rev":"3-917fa2381192822767f010b95b45325b"}],"doc":null}"#,
        "[1.5e+10, -0, true , false, null, \"\u{20AC}\u{1F600}\\ud83d\\ude00\\n\", {}, [], {\"a\" : [ ] } ]",
        " { \"überschrift\" : \"„été“\" } ",
    ]

    @Test(arguments: wholeTexts) func everyProperPrefixIsAnUnexpectedEnd(text: String) throws {
        let bytes = Array(text.utf8)
        let end = try #require(bytes.lastIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "]") })
        for length in 0...end {
            #expect(try error(of: bytes[..<length]) == JSONError(.unexpectedEnd, at: length))
        }
    }

    private static func unexpected(_ character: Unicode.Scalar, _ expected: JSONError.Expectation) -> JSONError.Reason {
        .unexpectedByte(UInt8(ascii: character), expected: expected)
    }
}

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }
}
