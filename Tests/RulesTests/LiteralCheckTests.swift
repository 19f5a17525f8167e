import Testing

@testable import Rules

@Suite struct LiteralCheckTests {
    @Test(arguments: [
        ("{a: {$type: int}}", "3:32: warning: rule 'a': no value is of type 'int': did you mean 'number'?"),
        ("{a: {$type: int, $gt: 3}}", "did you mean 'number'?"),
        ("{a: {$not: {$type: strng}}}", "did you mean 'string'?"),
        ("{a: {$in: [x, y, x]}}", "3:37: warning: rule 'a': \"x\" appears twice in the list"),
        ("{a: {$nin: [1, 1.0]}}", "1.0 appears twice in the list"),
        (
            "{type: 'Task '}",
            "3:27: warning: rule 'a': white space around a string is significant: \"Task \" is not \"Task\""
        ),
        ("{a: {$in: [' x']}}", "white space around a string is significant"),
        ("{a: {$elemMatch: {b: 'x '}}}", "white space around a string is significant"),
        ("{a: no}", "3:24: warning: rule 'a': no is a string here; write false for the boolean"),
        ("{a: {$ne: Yes}}", "write true for the boolean"), ("{a: {$in: [x, off]}}", "write false for the boolean"),
        ("{type:task}", "'type:task' is read as the name of a field; write a space after the colon: type: task"),
        ("{a: {$ne: [x, y]}}", "3:25: warning: rule 'a': $ne compares with the list as a whole"),
        ("{a.$exists: true}", "'a.$exists' is read as the name of a field; write a: { $exists: … }"),
    ])
    func likelyTyposAreReported(when: String, warning: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.contains { $0.contains(warning) }, "\(found)")
        #expect(found.count == 1, "\(found)")
    }

    @Test(arguments: [
        "{a: {$type: string}}", "{a: {$ne: []}}", "{a: [x, y]}", "{a: {$in: [x, X]}}", "{a: ' '}",
        "{a: {$beginsWith: 'Dr. '}}", #"{\$price: 1}"#,
        #"{a.\$b: 1}"#, "{US$: 1}", "{a: {$regex: ' $'}}", "{a: 'no'}", "{'a:b': 1}", "{a: northern}",
    ])
    func validValuesAreAccepted(when: String) throws {
        #expect(try selectorWarnings(when) == [])
    }
}
