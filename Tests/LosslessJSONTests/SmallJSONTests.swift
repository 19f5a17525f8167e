import LosslessJSON
import Testing

@Suite struct SmallJSONTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .number("0")),
            ("\"a\"", .string("a")),
            ("1.10", .number("1.10")), ("18446744073709551615", .number("18446744073709551615")), ("[]", .array([])),
            ("{} \r\n\t", .object([:])), ("[1,\"\\u0000\",null]", .array([.number("1"), .string("\0"), .null])),
            (#"{"a":{"é":[true]}}"#, .object(["a": .object(["é": .array([.bool(true)])])])),
            (#"{"a":1,"a":2}"#, .object(["a": .number("2")])),
            (#"["\ud83d\ude00","\ud800"]"#, .array([.string("😀"), .string("\u{FFFD}")])),
        ] as [(String, SmallJSON)])
    func answersAreCopied(text: String, expected: SmallJSON) {
        #expect(SmallJSON(text.utf8) == expected)
    }

    @Test(arguments: [
        "", " ", "{} x", "{}{}", "[1]]", "{}\0", "{}\0x", "\0", "[\"a\0b\"]", "NaN", "[NaN]", "Infinity", "-Infinity",
        "// c\n{}", "{/**/}", "{'a':1}", "['a']", "{a:1}", "[1,]", "{\"a\":1,}", "01", "00", "5.", "1e", "+1", "nan",
        "TRUE",
        "{\"a\":1", "\"a", "\u{FEFF}{}", "[\"\t\"]",
    ])
    func textThatIsNotOneStrictValueIsRefused(text: String) {
        #expect(SmallJSON(text.utf8) == nil)
    }

    @Test func answersMayBeSixtyFourLevelsDeep() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)).utf8)
        }
        #expect(SmallJSON(nested(64)) != nil)
        #expect(SmallJSON(nested(65)) == nil)
        #expect(SmallJSON(nested(100_000)) == nil)
    }

    @Test func membersAreReadByKind() throws {
        let answer = try #require(SmallJSON(#"{"s":"x","i":-7,"b":false,"a":[1],"f":1.5}"#.utf8))
        #expect(answer["s"]?.string == "x")
        #expect(answer["i"]?.integer == -7)
        #expect(answer["b"]?.bool == false)
        #expect(answer["a"]?.elements?.count == 1)
        #expect(answer["f"]?.integer == nil)
        #expect(answer["s"]?["x"] == nil)
        #expect(answer["s"]?.integer == nil)
        #expect(answer["none"] == nil)
    }
}
