import JQ
import LosslessJSON
import TestKit
import Testing

@Suite(.limitedParallelism)
struct JQExactnessTests {
    private static let big = "12345678901234567890"

    @Test(arguments: [
        ("{x: .big}", big), (".big % 10", big), (".big | tostring", big), (".big - .other", big),
        (".big == 12345678901234567890", big), (".big", "0.12345678901234567890123"), (".big | . > 0", "1e-400"),
        (".big < infinite", "1e400"), (".big == .other", "9007199254740993"), (".big", "1e99999999999999999999"),
    ])
    func resultThatDependsOnAnInexactNumberFails(program: String, number: String) async throws {
        let document = #"{"big":\#(number),"other":9007199254740992}"#
        let error = try #require(try await outcome(program, document).error)
        guard case .inexactNumber = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test(arguments: [
        ("(.id | tostring) != .ref", "{\"id\":9007199254740993,\"ref\":\"9007199254740993\"}"),
        (".table[.id | tostring] // 0", "{\"id\":9007199254740993,\"table\":{\"9007199254740993\":1}}"),
        ("(.ref | tonumber) % 10", "{\"ref\":\"9007199254740993\"}"),
        ("(.ref | fromjson) % 10", "{\"ref\":\"9007199254740993\"}"),
        (".v + 1 > 0", "{\"v\":0.12345678901234567890123}"),
    ])
    func comparingDigitsAsTextFails(program: String, document: String) async throws {
        #expect(try await outcome(program, document).error != nil)
    }

    @Test
    func errorWithoutAMessageIsAnError() async throws {
        #expect(try await outcome("error(null)", "{}").error == .programError("null"))
        #expect(try await outcome("try error(\"a\") catch .", "{}").texts == ["\"a\""])
        #expect(try await outcome("\"12.5\" | tonumber", "{}").texts == ["12.5"])
    }

    @Test
    func unusedInexactNumbersAreHarmless() async throws {
        let document = #"{"big":12345678901234567890,"tiny":0.12345678901234567890123,"y":7,"odd":"\ud800"}"#
        #expect(try await outcome("{y: .y}", document).texts == [#"{"y":7}"#])
        #expect(try await outcome("keys | length", document).texts == ["4"])
        #expect(try await outcome(".big > 5", document).texts == ["true"])
    }

    @Test
    func numbersWithTheSameDoubleAreNotEqual() async throws {
        let document = #"{"a":12345678901234567890,"b":12345678901234567891,"c":12345678901234567890}"#
        #expect(try await outcome(".a == .b", document).error == .inexactNumber("12345678901234567890"))
        #expect(try await outcome(".a == .c", document).texts == ["true"])
    }

    @Test(arguments: [
        ("1.10", "1.1"), ("1e2", "100"), ("9007199254740991", "9007199254740991"), ("-0.0", "-0"),
        ("0.1234567890123456", "0.1234567890123456"),
    ])
    func exactNumbersAreUnchanged(number: String, result: String) async throws {
        #expect(try await outcome(".", number).texts == [result])
    }

    @Test(
        arguments: ["9007199254740991 + 1", "1e300", "[{a: 12345678901234567890}]"],
        ["{}", #"{"big":12345678901234567890}"#])
    func largeResultsAreRefused(program: String, document: String) async throws {
        // A number of the document that the program does not use is irrelevant.
        let error = try #require(try await outcome(program, document).error)
        guard case .inexactResult = error else {
            Issue.record("\(error)")
            return
        }
        #expect(error.description.hasPrefix("the program gives a number that can't be written exactly, about "))
    }

    @Test
    func resultThatDependsOnALoneSurrogateFails() async throws {
        let document = #"{"a":"x\ud800","b":"x\udc00y","c":"\ud83d\ude00","d":1}"#
        #expect(try await outcome(".a", document).error == .brokenCharacter(#"\ud800"#))
        #expect(try await outcome(".b == .a", document).texts == ["false"])
        #expect(try await outcome(".c, .d", document).texts == ["\"😀\"", "1"])
        let names = #"{"\ud800":1,"\ud801":2}"#
        #expect(try await outcome("length", names).error == .brokenCharacter(#"\ud800"#))
    }
}
