import Testing

@testable import Transfer

/// Consecutive documents.
@Suite struct LinesTests {
    @Test(arguments: [
        ("", []),
        (" \r\n\n\t", []),
        ("{}", [document("{}", 1)]),
        ("{\"a\":1}\n{\"b\":2}\n", [document(#"{"a":1}"#, 1), document(#"{"b":2}"#, 2)]),
        ("\u{FEFF}{}\r\n\r\n  {\"a\":1.10} \r\n", [document("{}", 1), document(#"{"a":1.10}"#, 3)]),
        ("{}{}\n{} {\"a\":[]}", [document("{}", 1), document("{}", 1), document("{}", 2), document(#"{"a":[]}"#, 2)]),
        ("{\n  \"a\": 1\n}\n{\n  \"b\": 2\n}\n", [document("{\n  \"a\": 1\n}", 1), document("{\n  \"b\": 2\n}", 4)]),
        ("{ \"e\\u0301\" : \"\u{1F600}\" }", [document("{ \"e\\u0301\" : \"\u{1F600}\" }", 1)]),
    ])
    func documentsKeepTheirBytes(input: String, expected: [Found]) {
        #expect(read(input, as: .ndjson) == expected)
    }

    @Test(arguments: [
        ("cut off in an object", #"{"a":"#, "2:6: the text ends inside a value", #"{"a":"#),
        ("cut off in a string", #"{"a":"x"#, "2:8: the text ends inside a value", #"{"a":"x"#),
        ("cut off in a name", #"{"a":1,"#, "2:8: the text ends inside a value", #"{"a":1,"#),
        ("garbage", "x y", "2:1: expected a value, found 'x'", "x y"),
        ("a comma behind", "{},", "2:3: expected the end of the text, found ','", "{},"),
        ("an array", "[1]", "2:1: not a document: it must be an object", "[1]"),
        ("a number", "12 ", "2:1: not a document: it must be an object", "12"),
        ("two numbers", "1 2", "2:3: expected the end of the text, found '2'", "1 2"),
        ("a wrong word", #"{"ä":nul}"#, "2:9: expected true, false or null, found '}'", #"{"ä":nul}"#),
        (
            "a control character", "{\"a\":\"\u{1}\"}", "2:7: unescaped control character byte 0x01 in a string",
            "{\"a\":\"\u{1}\"}"
        ),
        ("a closing bracket too many", "{}}", "2:3: expected the end of the text, found '}'", "{}}"),
    ])
    func brokenLineIsOneErrorAndReadingContinues(name: String, line: String, reason: String, text: String) {
        for lineBreak in ["\n", "\r\n"] {
            let input = ["{\"n\":1}", line, "{\"n\":3}", "{\"n\":4}"].joined(separator: lineBreak) + lineBreak
            #expect(
                read(input, as: .ndjson) == [
                    document(#"{"n":1}"#, 1), error(reason, text), document(#"{"n":3}"#, 3), document(#"{"n":4}"#, 4),
                ], "\(name)")
        }
    }

    @Test func invalidBytesAreError() {
        let input = Array("{}\n{\"a\":\"".utf8) + [0xFF] + Array("\"}\n{}".utf8)
        let found = read(input, as: .ndjson)
        #expect(found == [document("{}", 1), error("2:7: invalid UTF-8", "{\"a\":\"\u{FFFD}\"}"), document("{}", 3)])
    }

    @Test func truncatedLastLineIsError() {
        #expect(
            read("{}\n{\"a\":[1,\n", as: .ndjson) == [
                document("{}", 1), error("2:9: the text ends inside a value", "{\"a\":[1,"),
            ])
    }

    @Test func brokenMultilineDocumentIsOneError() {
        let broken = "{\n  \"a\": {\n    \"x\": 1\n    \"y\": 2\n  }\n}"
        #expect(
            read("{\n  \"n\": 1\n}\n\(broken)\n{\n  \"n\": 2\n}\n", as: .ndjson) == [
                document("{\n  \"n\": 1\n}", 1), error("7:5: expected ',' or '}', found '\"'", broken),
                document("{\n  \"n\": 2\n}", 10),
            ])
    }

    /// Regression: only the line was named where the error was found, not the one that was cut off.
    @Test func errorNamesTheLineWhereTheDocumentBegins() throws {
        var pieces = [Array("{}\n{\"a\":1\n\n {\"b\":2}\n".utf8)].makeIterator()
        var source = DocumentSource(format: .ndjson) { pieces.next() }
        _ = try source.next()
        guard case .error(let error) = try source.next() else {
            Issue.record("no error")
            return
        }
        #expect(error.description.hasPrefix("4:2: expected ',' or '}', found '{' (the document begins on line 2); "))
        #expect(error.beginning == " (the document begins on line 2)")
    }

    @Test func documentAboveLimitIsError() {
        let long = #"{"a":"0123456789"}"#
        for limit in [10, 17] {
            #expect(
                read("{}\n\(long)\n{}", as: .ndjson, limit: limit) == [
                    document("{}", 1), error("2:\(limit + 1): longer than \(limit) bytes", long), document("{}", 3),
                ])
        }
        #expect(read("\(long)\n", as: .ndjson, limit: 18) == [document(long, 1)])
    }

    @Test func beginningOfHugeBrokenLineIsKept() throws {
        let input = Array("{\"a\":\(String(repeating: "x", count: 3 << 20))\n{}".utf8)
        var pieces = stride(from: 0, to: input.count, by: 100_000).map { Array(input[$0...].prefix(100_000)) }
            .makeIterator()
        var source = DocumentSource(format: .ndjson) { pieces.next() }
        guard case .error(let error) = try source.next() else {
            Issue.record("no fault")
            return
        }
        #expect(error.isTruncated && error.text == Array(input.prefix(1 << 20)))
        #expect(Found(try #require(try source.next())) == document("{}", 2))
    }

    @Test func placesMatchTheText() throws {
        let input = Array("{}\n\n {\"a\":\"ü\"} {}".utf8)
        var pieces = [input].makeIterator()
        var source = DocumentSource(format: .ndjson) { pieces.next() }
        var places: [String] = []
        while case .document(let document) = try source.next() {
            places.append("\(document.place) \(document.byteOffset)")
        }
        #expect(places == ["1:1 0", "3:2 5", "3:12 16"])
    }
}
