import Foundation
import LosslessJSON
import Testing

@testable import TypedDocuments

/// Decoding of documents into Swift types.
@Suite struct DecodingTests {
    private enum Color: String, Codable { case red, green }

    private enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case none
    }

    private struct Part: Codable, Equatable {
        var name: String
        var count: Int?
    }

    private struct Everything: Codable {
        var text: String
        var whole: Int
        var small: UInt8
        var float: Double
        var amount: Decimal
        var isOn: Bool
        var nothing: String?
        var missing: Part?
        var at: Date
        var bytes: Data
        var link: URL
        var key: UUID
        var color: Color
        var shape: Shape
        var parts: [Part]
        var grid: [[Int?]]
        var counts: [String: Int]
    }

    private static let everything = #"""
        {"text":"\u00e9\n","whole":-5.0,"small":255,"float":1e2,"amount":12345678901234567890.125,"isOn":true,
         "nothing":null,"at":"2026-11-20T11:00:00.250+01:00","bytes":"AQID","link":"http://example.org/a?b",
         "key":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","color":"red","shape":{"circle":{"radius":2.5}},
         "parts":[{"name":"a","more":1},{"name":"b","count":2}],"grid":[[1,null],[]],"counts":{"a":1}}
        """#

    private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try DocumentDecoder().decode(type, from: JSONText(text).root)
    }

    @Test func everyKindOfPropertyIsRead() throws {
        let value = try decode(Everything.self, Self.everything)
        #expect(value.text == "é\n")
        #expect(value.whole == -5 && value.small == 255 && value.float == 100 && value.isOn)
        #expect(value.amount == Decimal(string: "12345678901234567890.125"))
        #expect(value.nothing == nil && value.missing == nil)
        #expect(value.at == Date(timeIntervalSince1970: 1_795_168_800.25))
        #expect(value.bytes == Data([1, 2, 3]))
        #expect(value.link.absoluteString == "http://example.org/a?b")
        #expect(value.key.uuidString == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        #expect(value.color == .red && value.shape == .circle(radius: 2.5))
        #expect(value.parts == [Part(name: "a"), Part(name: "b", count: 2)])
        #expect(value.grid == [[1, nil], []] && value.counts == ["a": 1])
    }

    @Test func readValuesAreWrittenAlike() throws {
        let value = try decode(Everything.self, Self.everything)
        let json = try DocumentEncoder().encode(value).json.root
        let expected = try JSONText(
            #"""
            {"text":"é\n","whole":-5,"small":255,"float":100.0,"amount":12345678901234567890.125,"isOn":true,
             "at":"2026-11-20T10:00:00.250Z","bytes":"AQID","link":"http://example.org/a?b",
             "key":"E621E1F8-C36C-495A-93FC-0C247A3E6E5F","color":"red","shape":{"circle":{"radius":2.5}},
             "parts":[{"name":"a"},{"name":"b","count":2}],"grid":[[1,null],[]],"counts":{"a":1}}
            """#
        ).root
        #expect(json.isEquivalent(to: expected), "\(String(decoding: json.bytes, as: UTF8.self))")
    }

    @Test func typeWithoutMembersIsObject() throws {
        struct Nothing: Codable {}
        #expect(try DocumentEncoder().encode(Nothing()).json.bytes == Array("{}".utf8))
        #expect(try DocumentEncoder().encode([Nothing()]).json.bytes == Array("[{}]".utf8))
    }

    @Test func subclassHasMemberForParent() throws {
        let dog = Dog()
        (dog.name, dog.tricks) = ("Rex", 3)
        let json = try DocumentEncoder().encode(dog).json
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"tricks":3,"super":{"name":"Rex"}}"#)
        let copy = try DocumentDecoder().decode(Dog.self, from: json.root)
        #expect(copy.name == "Rex" && copy.tricks == 3)
    }

    private class Animal: Codable { var name = "" }

    private final class Dog: Animal {
        var tricks = 0

        private enum CodingKeys: CodingKey { case tricks }

        override init() { super.init() }

        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tricks = try container.decode(Int.self, forKey: .tricks)
            try super.init(from: container.superDecoder())
        }

        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(tricks, forKey: .tricks)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan]) func valuesThatJSONCannotHoldAreErrors(number: Double) {
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode(["a": number]) }
    }

    // MARK: - Type mismatches

    private func typeMismatch(_ type: (some Decodable).Type, _ text: String) throws -> TypeMismatch {
        try #require(#expect(throws: TypeMismatch.self) { try decode(type, text) })
    }

    @Test(arguments: [
        (#"{"name":1}"#, "name must be text, but is a number"),
        (#"{"name":null}"#, "name must be text, but is null"),
        (#"{"count":1}"#, "name is missing: it must be text"),
        (#"{"name":"a","count":"1"}"#, "count must be a whole number, but is text"),
        (
            #"{"name":"a","count":12345678901234567890123}"#,
            "count must be a whole number from -9223372036854775808 to 9223372036854775807, but is a number"
        ),
        (
            #"{"name":"a","count":1.5}"#,
            "count must be a whole number from -9223372036854775808 to 9223372036854775807, but is a number"
        ),
        ("[]", "the document must be an object, but is a list"),
    ])
    func typeMismatchNamesPathAndKinds(text: String, expected: String) throws {
        #expect(try typeMismatch(Part.self, text).description == expected)
    }

    @Test func nestedTypeMismatchHasPath() throws {
        struct Tree: Codable { var branches: [[String: Part]] }
        let text = #"{"branches":[{},{"left":{"name":{"first":"secret"}}}]}"#
        let mismatch = try typeMismatch(Tree.self, text)
        #expect(mismatch.path == "branches[1].left.name")
        #expect(mismatch.found == "an object" && mismatch.value == #"{"first":"secret"}"#)
        #expect(!mismatch.description.contains("secret"))
    }

    @Test func longValueIsTruncated() throws {
        let mismatch = try typeMismatch([String: Int].self, #"{"a":"\#(String(repeating: "x", count: 1000))"}"#)
        #expect(mismatch.value?.count == 201)
    }

    @Test(arguments: [
        (#"{"a":"blue"}"#, "a must be a known value of Color, but is text"),
        (#"{"a":1}"#, "a must be text, but is a number"),
    ])
    func unknownEnumerationValueIsTypeMismatch(text: String, expected: String) throws {
        #expect(try typeMismatch([String: Color].self, text).description == expected)
    }

    @Test(arguments: ["yesterday", "2026-02-30T10:00:00Z", "2026-11-20T10:00:00"]) func invalidTimeIsTypeMismatch(
        _ text: String
    )
        throws
    {
        let mismatch = try typeMismatch([String: Date].self, #"{"a":"\#(text)"}"#)
        #expect(mismatch.description == #"a must be a time such as "2026-11-20T10:00:00.000Z", but is text"#)
    }

    @Test(arguments: ["*", "A", "AQI"]) func invalidBase64IsTypeMismatch(_ text: String) throws {
        #expect(try typeMismatch([String: Data].self, #"{"a":"\#(text)"}"#).expected == "base64")
    }

    @Test func tooShortListIsTypeMismatch() throws {
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                for _ in 0..<2 { _ = try container.decode(Int.self) }
            }
        }
        #expect(try typeMismatch(Pair.self, "[1]").description == "[1] is missing: it must be a whole number")
        #expect(try typeMismatch(Pair.self, "[1,null]").description == "[1] must be a whole number, but is null")
    }

    @Test func typeCanRefuseDocument() throws {
        struct Refusal: Error, CustomStringConvertible { let description = "Refusal" }
        struct Picky: Decodable { init(from decoder: any Decoder) throws { throw Refusal() } }
        #expect(try typeMismatch(Picky.self, "{}").description.contains("Refusal"))
    }

    // MARK: - Numbers

    @Test(arguments: [("5.0", 5), ("1e2", 100), ("-0", 0), ("9007199254740993", 9_007_199_254_740_993)])
    func integerMayBeWrittenAsFloat(text: String, expected: Int) throws {
        #expect(try decode([Int].self, "[\(text)]") == [expected])
    }

    @Test(arguments: ["1e400", "1e-400", "0.1234567890123456789012345678901234567890123"])
    func decimalIsExactOrError(text: String) throws {
        #expect(throws: TypeMismatch.self) { try decode([Decimal].self, "[\(text)]") }
    }
}
