import LosslessJSON
import Testing

/// Where a scan begins and ends, the resulting tape, and the errors.
@Suite struct ScannerContractTests {
    @Test(arguments: [
        ("{\"a\":\n  x}", 2, 3), ("x", 1, 1), ("[1,\n\n\n", 4, 1), ("[\"日本\",x]", 1, 7), ("[\r\n\"😀\" x]", 2, 5),
        ("", 1, 1),
    ])
    func linesAndColumnsCountFromOne(text: String, line: Int, column: Int) throws {
        let position = try error(of: text.utf8).position(in: Array(text.utf8).span)
        #expect(position == (line, column))
    }

    @Test(arguments: [
        (JSONError(.unexpectedEnd, at: 1), "the text ends inside a value"),
        (JSONError(.unexpectedByte(0x7D, expected: .value), at: 1), "expected a value, found '}'"),
        (JSONError(.unexpectedByte(0x0A, expected: .colon), at: 1), "expected ':', found byte 0x0A"),
        (
            JSONError(.unexpectedByte(0xEF, expected: .endOfText), at: 1),
            "expected the end of the text, found byte 0xEF"
        ),
        (JSONError(.controlCharacterInString(9), at: 1), "unescaped control character byte 0x09 in a string"),
        (JSONError(.tooDeep(limit: 3), at: 1), "nested deeper than 3 levels"),
        (JSONError(.tooLong(limit: 3), at: 1), "longer than 3 bytes"),
    ])
    func errorsAreDescribed(error: JSONError, description: String) {
        #expect(error.description == description)
    }

    @Test func consecutiveValuesAreScanned() throws {
        let bytes = Array(" {\"a\":1} ,[2]x".utf8)
        var tape = JSONTape()
        let first = try tape.scanValue(in: bytes.span)
        #expect(first == 8)
        let second = tape.count
        #expect(try tape.scanValue(in: bytes.span, from: first + 2) == 13)
        let text = JSONText(bytes: bytes, tape: tape)
        #expect(text.root["a"]?.integer == 1)
        #expect(text.value(at: second).element(0)?.integer == 2)
    }

    @Test func numberAtTheEndIsComplete() throws {
        var tape = JSONTape()
        #expect(try tape.scanValue(in: Array("12".utf8).span) == 2)
    }

    @Test func errorLeavesTheTapeUnchanged() throws {
        var tape = JSONTape()
        _ = try tape.scanValue(in: Array("[1]".utf8).span)
        let count = tape.count
        for text in ["[1,[2,{\"a\":", "{\"a\":[1,2,x]}", "[1] ]"] {
            #expect(throws: JSONError.self) { _ = try tape.scanDocument(Array(text.utf8).span) }
            #expect(tape.count == count)
        }
    }

    @Test func startBeyondTheTextIsItsEnd() throws {
        var tape = JSONTape()
        #expect(throws: JSONError(.unexpectedEnd, at: 2)) { try tape.scanValue(in: Array("{}".utf8).span, from: 7) }
    }

    @Test func textLongerThanTheLimitIsRefused() throws {
        let limits = JSONLimits(length: 4)
        #expect(scan("1234".utf8, limits: limits).isSuccess)
        #expect(try error(of: "12345".utf8, limits: limits) == JSONError(.tooLong(limit: 4), at: 4))
    }

    @Test func lengthBeyondTheTapesRangeDoesNotTrap() throws {
        var limits = JSONLimits(length: .max)
        limits.length = .max
        #expect(scan("[1]".utf8, limits: limits).isSuccess)
    }
}
