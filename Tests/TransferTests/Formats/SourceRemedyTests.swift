import Testing

@testable import Transfer

/// Errors of documents end with a remedy if another notation than JSON is probable.
@Suite struct SourceRemedyTests {
    @Test(arguments: [
        (
            "{}\n{'a':1}\n{}", InputFormat.ndjson,
            "2:2: expected a member name in double quotes or '}', found '''; write double quotes instead"
        ),
        (
            "{},\n{}", .ndjson,
            "1:3: expected the end of the text, found ','; remove it: only documents in [ ] have commas between them"
        ),
        ("_id,v\na", .ndjson, "1:1: expected a value, found '_'; if the file is a table, read it with --format csv"),
        (
            "{\"a\":\n  NaN\n}\n", .ndjson,
            "2:3: expected a value, found 'N' (the document begins on line 1); JSON has no such number: write null, or leave out the member"
        ),
        (
            "[{\"a\":1,},\n{}]", .json,
            "1:9: expected a member name in double quotes, found '}'; remove the comma before it"
        ),
        ("[{},\n]", .json, "2:1: expected a value, found ']'; remove the comma before it"),
        (
            "[{},\n{\"a\":\n]\n", .json,
            "2:6: the text ends inside a value; it was cut off, or a closing bracket or quote is missing: complete it"
        ),
        ("{}\n@\n", .ndjson, "2:1: expected a value, found '@'"),
        ("{}\n5\n", .ndjson, "2:1: not a document: it must be an object"),
    ])
    func errorNamesRemedy(input: String, format: InputFormat, message: String) throws {
        for length in [1, 7, input.utf8.count] {
            var rest = Array(input.utf8)[...]
            var source = DocumentSource(format: format) {
                defer { rest = rest.dropFirst(length) }
                return rest.isEmpty ? nil : Array(rest.prefix(length))
            }
            var messages: [String] = []
            while let item = try source.next() {
                if case .error(let error) = item { messages.append("\(error)") }
            }
            #expect(messages.first == message)
        }
    }
}
