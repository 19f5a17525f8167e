import Testing

@testable import Transfer

/// Documents in an array, alone or in a gateway's answer.
@Suite struct ArrayTests {
    @Test(arguments: [
        ("[]", []),
        (" [ \n ] \n", []),
        (#"[{"a":1.10},{ }]"#, [document(#"{"a":1.10}"#, 1), document("{ }", 1)]),
        ("[\n{\"a\":1},\n{\"b\":2}\n]\n", [document(#"{"a":1}"#, 2), document(#"{"b":2}"#, 3)]),
        ("\u{FEFF}[ {\n \"a\" : 1\n}, {\n} ]", [document("{\n \"a\" : 1\n}", 1), document("{\n}", 3)]),
        (#"{"docs":[{"_id":"a"}]}"#, [document(#"{"_id":"a"}"#, 1)]),
        (#"{"new_edits":false,"docs":[]}"#, []),
        (
            "{\"total_rows\":2,\"offset\":0,\"rows\":[\r\n"
                + #"{"id":"a","key":"a","value":{"rev":"1-x"},"doc":{"_id":"a","n":1.0}},"# + "\r\n"
                + #"{"id":"b","key":"b","value":{"rev":"2-x","deleted":true},"doc":null},"# + "\r\n"
                + #"{"id":"c","key":"c","value":{"rev":"1-x"},"doc":{"_id":"c"}}"# + "\r\n],\"update_seq\":\"12\"}\n",
            [document(#"{"_id":"a","n":1.0}"#, 2), document(#"{"_id":"c"}"#, 4)]
        ),
    ])
    func documentsKeepTheirBytes(input: String, expected: [Found]) {
        #expect(read(input, as: .json) == expected)
        #expect(read(input) == expected)
    }

    @Test(arguments: [
        ("cut off", #"{"n":"#, "3:6: expected a value, found ','", #"{"n":"#),
        ("cut off in a string", #"{"n":"x"#, "3:8: the text ends inside a value", #"{"n":"x"#),
        ("a bracket missing", #"{"n":{"m":1}"#, "3:13: the text ends inside a value", #"{"n":{"m":1}"#),
        ("a wrong word", #"{"n":nil}"#, "3:7: expected true, false or null, found 'i'", #"{"n":nil}"#),
        ("a bracket of the wrong kind", #"{"n":[1}}"#, "3:8: expected ',' or ']', found '}'", #"{"n":[1}}"#),
        ("a scalar", "12", "3:1: not a document: it must be an object", "12"),
        ("nothing", "", "3:1: expected a value, found ','", ""),
    ])
    func brokenElementIsOneError(name: String, element: String, reason: String, text: String) {
        for indentation in ["", "  "] {
            let lines = ["{\"n\":1}", element, "{\"n\":3}", "{\"n\":4}"].map { indentation + $0 }
            let shifted = indentation.isEmpty ? reason : reason.shifted(by: 2)
            #expect(
                read("[\n" + lines.joined(separator: ",\n") + "\n]") == [
                    document(#"{"n":1}"#, 2), error(shifted, text), document(#"{"n":3}"#, 4), document(#"{"n":4}"#, 5),
                ], "\(name)")
        }
    }

    @Test(arguments: [#"{"n":nil}"#, #"{"n":1,}"#, #"{"n":[1 2]}"#, #"{"a":{"b":"]}"} 1}"#])
    func brokenElementWithMatchingBracketsIsOneErrorOnSharedLine(element: String) {
        let found = read("[{\"n\":1},\(element),{\"n\":3}]")
        #expect(found.count == 3 && found.first == document(#"{"n":1}"#, 1) && found.last == document(#"{"n":3}"#, 1))
        guard case .broken(_, let text) = found[1] else {
            Issue.record("no fault")
            return
        }
        #expect(text == element)
    }

    @Test func brokenLastElementDoesNotHideArrayEnd() {
        #expect(
            read("[\n{\"n\":1},\n{\"n\":\n]\n") == [
                document(#"{"n":1}"#, 2), error("3:6: the text ends inside a value", "{\"n\":"),
            ])
    }

    @Test func objectsWithinBrokenElementAreNotDocuments() {
        let broken = "{\n    \"a\": [\n      {\"x\": 1},\n      {\"x\": 2}\n    ],\n    \"b\": \"open\n  }"
        let found = read("[\n  \(broken),\n  {\"n\": 2}\n]")
        #expect(found.count == 2)
        #expect(found.last == document("{\"n\": 2}", 9))
    }

    @Test(arguments: [
        ("[{}{}]", "1:4: expected ',' or ']', found '{'"),
        ("[{},\n]", "2:1: expected a value, found ']'"),
        ("[{} x, {}]", "1:5: expected ',' or ']', found 'x'"),
    ])
    func wrongSeparatorIsErrorButLosesNoDocument(input: String, reason: String) {
        let found = read(input)
        #expect(found.contains { if case .broken(reason, _) = $0 { true } else { false } }, "\(found)")
        let count = input.split(separator: "{").count - 1
        #expect(found.filter { if case .document = $0 { true } else { false } }.count == count)
    }

    @Test(arguments: [
        ("[{}", "1:4: the text ends inside a value"),
        ("[{},", "1:5: the text ends inside a value"),
        (#"[{},{"a":"#, "1:10: the text ends inside a value"),
        (#"[{},{"a"x},{}"#, "1:14: the text ends inside a value"),
        (#"[{},{"a"x,{}"#, "1:9: expected ':', found 'x'"),
        ("[{}] x", "1:6: expected the end of the text, found 'x'"),
        (#"{"docs":[{}]"#, "1:13: the text ends inside a value"),
        (#"{"docs":[{}],"a":}"#, "1:18: expected a value, found '}'"),
        (#"{"docs":[{}] "a":1}"#, "1:14: expected ',' or '}', found '\"'"),
    ])
    func fatalErrorsNameTheirPlace(input: String, reason: String) {
        let found = read(input)
        #expect(found.first == document("{}", 1))
        #expect(found.last == .error(reason + "; the documents after this place can't be read"))
    }

    @Test func rowWithoutDocumentIsError() {
        let row = #"{"id":"a","key":"a","value":{"rev":"1-x"}}"#
        #expect(
            read("{\"rows\":[\(row)]}") == [
                error("1:10: the row has no document; get the rows with include_docs=true", row)
            ])
    }

    @Test(arguments: [
        #"{"_id":"a","docs":[{"x":1}]}"#, #"{"rows":[1,2]}"#, #"{"docs":{}}"#, #"{"offset":0,"a":1}"#, "{}",
    ])
    func documentsResemblingAnswersAreDocuments(input: String) {
        #expect(read(input, as: .json) == [document(input, 1)])
    }

    @Test func answersAreNotDetectedInNDJSON() {
        let input = #"{"docs":[{"x":1}]}"#
        #expect(read(input, as: .ndjson) == [document(input, 1)])
    }
}

extension String {
    /// `LINE:COLUMN…` with a larger column.
    fileprivate func shifted(by columns: Int) -> String {
        let parts = split(separator: ":", maxSplits: 2)
        return "\(parts[0]):\((Int(parts[1]) ?? 0) + columns):\(parts[2])"
    }
}
