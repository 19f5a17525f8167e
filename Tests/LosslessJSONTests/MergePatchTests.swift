import LosslessJSON
import TestKit
import Testing

@Suite struct MergePatchTests {
    /// RFC 7396, appendix A.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#), (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, "null", "null"), (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#), ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
    func examplesOfTheRFC(text: String, patch: String, expected: String) throws {
        #expect(try JSONText(text).merging(patch).string == expected)
    }

    @Test(arguments: [
        // Several changes to one object at once: commas and white space.
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"a":null,"b":null,"c":null}"#, "{  }"),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"a":null,"b":null,"c":null,"d":4}"#, #"{ "d":4 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"a":null,"c":null}"#, #"{ "b" : 2 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"b":null,"c":null,"d":4,"e":5}"#, #"{ "a" : 1,"d":4,"e":5 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"c":30,"d":4}"#, #"{ "a" : 1 , "b" : 2 , "c" : 30,"d":4 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, #"{"a":null,"b":20,"c":null}"#, #"{ "b" : 20 }"#),
        (#"{"a":{"x":1,"y":2},"b":3}"#, #"{"b":null,"a":{"y":null,"z":4},"c":5}"#, #"{"a":{"x":1,"z":4},"c":5}"#),
        (#"{"a":{},"b":{ }}"#, #"{"a":{"x":1},"b":{"y":{"z":null}}}"#, #"{"a":{"x":1},"b":{"y":{} }}"#),
        // New values keep their bytes, except for null members of their objects.
        (
            "{}", #"{"a" : { "x" : 1.50 , "n" : null , "l" : [ null , { "k" : null } ] } }"#,
            #"{"a":{ "x" : 1.50 , "l" : [ null , { "k" : null } ] }}"#
        ),
        // Names keep their original spelling.
        (#"{"\u0061":1}"#, #"{"a":2,"\u0062\ud800":3}"#, #"{"\u0061":2,"\u0062\ud800":3}"#),
    ])
    func patchKeepsOtherBytes(text: String, patch: String, expected: String) throws {
        #expect(try JSONText(text).merging(patch).string == expected)
    }

    @Test(arguments: [
        "{}", #"{"none":null}"#, #"{"a":1.1}"#, #"{"a":1.10,"b":{}}"#,
        #"{"b":{"y":[1e2,{"q":2,"p":1.0}],"none":null}}"#, #"{"s":"\u00e9"}"#,
        #"{"b":{"x":{}}}"#, #"{"big":123456789012345678901234567890}"#,
    ])
    func patchWithoutChangeReturnsTheSameText(patch: String) throws {
        let text = try JSONText(
            #"{ "a" : 1.10, "b":{"x":{}, "y":[100, {"p":1,"q":2}]}, "s":"é","big":123456789012345678901234567890 }"#)
        #expect(try text.merging(patch) === text)
    }

    @Test func equivalentScalarsAndArraysStay() throws {
        let text = try JSONText(" [1.0,{\"a\":1,\"b\":2}] ")
        #expect(try text.merging(#"[1,{"b":2,"a":1}]"#) === text)
    }

    /// Regression: these trapped, created a duplicate, or took the first duplicate.
    @Test(arguments: [
        (#"{"a":0}"#, #"{"a":null,"a":1}"#, #"{"a":1}"#), (#"{"a":0}"#, #"{"a":1,"a":null}"#, "{}"),
        ("{}", #"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"a":1}"#, #"{"a":2,"\u0061":1}"#, #"{"a":1}"#), ("{}", #"{"a":1,"a":null}"#, "{}"),
        (#"{"a":{}}"#, #"{"a":{"b":1},"a":{"c":2}}"#, #"{"a":{"c":2}}"#),
        ("{}", #"{"x":{"a":1,"b":0,"a":null}}"#, #"{"x":{"b":0}}"#),
        ("{}", #"{"x":{"a":null,"a":1}}"#, #"{"x":{"a":1}}"#),
    ])
    func lastDuplicateMemberOfThePatchCounts(text: String, patch: String, expected: String) throws {
        #expect(try JSONText(text).merging(patch).string == expected)
    }

    @Test(arguments: [
        (#"{"a":1,"a":1}"#, #"{"a":1,"b":2}"#), (#"{"a":1,"b":2}"#, #"{"a":1,"a":1}"#), ("[1]", "[1,1]"),
        ("[1,1]", "[1]"), ("[1,2]", "[2,1]"),
        (#"{"a":1}"#, #"{"a":2}"#), (#"{"a":1}"#, #"{"A":1}"#), ("\"é\"", "\"e\u{301}\""), ("1", "\"1\""), ("{}", "[]"),
        ("9007199254740993", "9007199254740992.0"),
    ])
    func differentValuesAreNotEquivalent(left: String, right: String) throws {
        #expect(try !json(left).isEquivalent(to: json(right)))
        #expect(try !json(right).isEquivalent(to: json(left)))
    }

    @Test(arguments: [
        (#"{"a":1,"b":[{}]}"#, #"{"b":[{}],"a":1.0}"#), (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"\u0061":"\u0062"}"#, #"{"a":"b"}"#), ("1e2", "100"), ("-0", "0.0"),
    ])
    func gatewayRespellingsAreEquivalent(left: String, right: String) throws {
        #expect(try json(left).isEquivalent(to: json(right)))
        #expect(try json(right).isEquivalent(to: json(left)))
    }

    /// Regression: it took minutes, because every lookup searched all members.
    @Test(.limitedParallelism) func manyMembersTakeLinearTime() throws {
        func object(_ count: Int, _ value: String, from start: Int = 0) -> String {
            "{" + (start..<start + count).map { "\"member-\($0)\":\(value)" }.joined(separator: ",") + "}"
        }
        let count = 20_000
        let text = try JSONText(object(count, "1"))
        #expect(try text.merging(object(count, "1.0")) === text)
        #expect(try text.merging(object(count, "2")).string == object(count, "2"))
        #expect(try text.merging(object(count, "null")).string == "{}")
        #expect(try text.merging(object(count, "1", from: count)).root.childCount == 2 * count)
        #expect(try json("[\(object(count, "1"))]").isEquivalent(to: json("[\(object(count, "1.0"))]")))
    }
}
