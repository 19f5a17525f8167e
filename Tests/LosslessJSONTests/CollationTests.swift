import LosslessJSON
import Testing

/// CouchDB's order of values.
@Suite struct CollationTests {
    /// In ascending order, as in CouchDB: by type, then by value.
    private static let ascending = [
        "null", "false", "true",
        "-1e400", "-100000000000000000000000", "-99999999999999999999999", "-9007199254740993", "-9007199254740992",
        "-1.5", "-1",
        "-0.5", "0", "1e-300", "1", "1.1", "2", "10", "9007199254740991", "9007199254740992", "9007199254740993",
        "9007199254740994.0", "99999999999999999999999", "100000000000000000000001", "1e300", "1e400",
        #""""#, #"" ""#, #""_""#, #""9""#, #""a""#, #""A""#, #""aa""#, #""b""#, #""B""#, #""ba""#, #""é""#, #""f""#,
        #""日本""#,
        "[]", "[null]", "[1]", "[1,2]", "[1,[]]", "[2]", #"["a"]"#, "[[]]", "[[],0]", "[[1]]", "[{}]",
        "{}", #"{"a":1}"#, #"{"a":1,"b":1}"#, #"{"a":1,"c":0}"#, #"{"a":2}"#, #"{"a":{"x":1},"b":0}"#, #"{"b":1}"#,
        #"{"b":1,"a":1}"#, #"{"b":2}"#,
    ]

    @Test func everyPairOfValuesIsOrdered() throws {
        let values = try Self.ascending.map { try json($0) }
        for (position, value) in values.enumerated() {
            for (other, otherValue) in values.enumerated() {
                let expected: JSONOrdering = position < other ? .less : position == other ? .equal : .greater
                #expect(
                    JSONCollation.compare(value, otherValue) == expected,
                    "\(Self.ascending[position]) and \(Self.ascending[other])")
                #expect(JSONCollation.areEqual(value, otherValue) == (expected == .equal))
            }
        }
    }

    @Test(arguments: [
        ("1.10", "1.1"), ("1", "1.0"), ("100", "1e2"), ("-0", "0"), ("-0.0", "0"), ("0e5", "-0"),
        ("1e23", "99999999999999991611392"),
        ("9007199254740993", "9007199254740993"), ("9007199254740992", "9007199254740993.0"),
        ("-1e23", "-99999999999999991611392"),
        ("1e400", "1e500"), ("1e-400", "0"), ("\"ap\\u00ADple\"", "\"apple\""), ("\"\\u00e9\"", "\"é\""),
        ("\"e\u{301}\"", "\"\u{E9}\""),
        ("\"a\u{7F}\"", "\"a\""), ("[1, 2.0]", "[1.0,2]"), ("{\"\\u0061\":1}", "{\"a\":1.0}"),
    ])
    func differentSpellingsAreEqual(left: String, right: String) throws {
        #expect(try JSONCollation.compare(json(left), json(right)) == .equal)
        #expect(try JSONCollation.areEqual(json(left), json(right)))
    }

    /// Pairs that only an exact comparison distinguishes.
    @Test(arguments: [
        ("9007199254740993", "9007199254740992.0", JSONOrdering.greater),
        ("9007199254740991", "9007199254740992.0", .less),
        ("9007199254740995", "9007199254740996.0", .less), ("-9007199254740993", "-9007199254740992.0", .less),
        ("99999999999999991611393", "1e23", .greater), ("99999999999999991611391", "1e23", .less),
        ("100000000000000000000000", "1e23", .greater),
        ("123456789012345678901234567890", "1e400", .less), ("-123456789012345678901234567890", "-1e400", .greater),
        ("1" + String(repeating: "0", count: 400), "1e400", .less),
        ("1" + String(repeating: "0", count: 400), "1e308", .greater),
        ("-1" + String(repeating: "0", count: 400), "-1e308", .less),
        ("9007199254740993", "-9007199254740992.0", .greater),
    ])
    func integersAndFloatsAreComparedExactly(integer: String, float: String, expected: JSONOrdering) throws {
        #expect(try JSONCollation.compare(json(integer), json(float)) == expected)
        #expect(try JSONCollation.compare(json(float), json(integer)).rawValue == -expected.rawValue)
    }

    @Test func largestFloatIsComparedExactly() throws {
        let digits =
            "1797693134862315708145274237317043567980705675258449965989174768031572607800285387605895586327668781"
            + "7154045895351438246423432132688946418276846754670353751698604991057655128207624549009038932894407586"
            + "8508455133942304583236903222948165808559332123348274797826204144723168738177180919299881250404026184"
            + "124858368"
        let float = try json("1.7976931348623157e308")
        #expect(JSONCollation.compare(try json(digits), float) == .equal)
        #expect(JSONCollation.compare(try json(String(digits.dropLast()) + "9"), float) == .greater)
        #expect(JSONCollation.compare(try json(String(digits.dropLast()) + "7"), float) == .less)
    }

    @Test func stringsAreOrderedInRootCollation() {
        #expect(JSONCollation.compareStrings("".utf8, "a".utf8) == .less)
        #expect(JSONCollation.compareStrings("a".utf8, "".utf8) == .greater)
        #expect(JSONCollation.compareStrings("".utf8, "".utf8) == .equal)
        #expect(JSONCollation.compareStrings("résumé".utf8, "resume".utf8) == .greater)
        #expect(JSONCollation.compareStrings(Array("a".utf8), ContiguousArray("B".utf8)) == .less)
    }

    @Test(.enabled(if: Suites.folder != nil)) func stringsAreOrderedLikeCouchDB() throws {
        let recorded = try JSONText(Suites.read("mango/string-order-couchdb-3.5.0.json"))
        let strings = try Array(#require(recorded.root["order"]).elements)
        #expect(strings.count == 53)
        for (position, string) in strings.enumerated() {
            for later in strings[(position + 1)...] {
                #expect(
                    JSONCollation.compare(string, later) != .greater, "\(string.string ?? "") \(later.string ?? "")")
            }
        }
        let position = try #require(strings.firstIndex { $0.string == "apple" })
        #expect(JSONCollation.areEqual(strings[position], strings[position + 1]))
    }
}
