import LosslessJSON
import Testing

/// Changes by a reader that understood only parts of a document.
@Suite struct ChangesTests {
    @Test(arguments: [
        // Unknown members, spelling and white space stay.
        (
            #"{ "a" : 1.10 , "x" : {"deep":1e2}, "b" : "\u0041" }"#, #"{"a":1.1,"b":"A"}"#, #"{"a":1.1,"b":"B"}"#,
            #"{ "a" : 1.10 , "x" : {"deep":1e2}, "b" : "B" }"#
        ),
        (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1}}"#, #"{"a":{"x":3}}"#, #"{"a":{"x":3,"y":2}}"#),
        (#"{"a":1,"x":2}"#, #"{"a":1}"#, "{}", #"{"x":2}"#),
        (#"{"x":2}"#, "{}", #"{"a":null}"#, #"{"x":2,"a":null}"#),
        (#"{"a":null,"x":2}"#, "{}", #"{"a":1}"#, #"{"a":1,"x":2}"#),
        (#"{"a":null}"#, "{}", #"{"b":1}"#, #"{"a":null,"b":1}"#),
        // A value of a different kind.
        (#"{"a":{"x":1}}"#, #"{"a":{}}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        // A text that was read as a number stays a text.
        (#"{"a":"1"}"#, #"{"a":1}"#, #"{"a":1}"#, #"{"a":"1"}"#),
    ])
    func onlyChangedPartsChange(text: String, old: String, new: String, expected: String) throws {
        #expect(try JSONText(text).applyingChanges(from: old, to: new).string == expected)
    }

    @Test(arguments: [
        // Removed, added, moved, changed in place.
        ("[1.0, 2.0 ,3.0]", "[1,2,3]", "[1,3]", "[1.0,3.0]"),
        ("[1.0, 2.0]", "[1,2]", "[0,1,2]", "[0,1.0,2.0]"),
        ("[1.0, 2.0 ,3.0]", "[1,2,3]", "[3,2,1]", "[3.0,2.0,1.0]"),
        ("[1.0, 2.0 ,3.0]", "[1,2,3]", "[1,5,3]", "[1.0, 5 ,3.0]"),
        ("[]", "[]", "[1]", "[1]"), ("[ 1.0 ]", "[1]", "[]", "[]"),
        // Elements keep unknown members, whatever happens around them.
        (
            #"[{"n":1,"x":1.0},{"n":2,"x":2.0}]"#, #"[{"n":1},{"n":2}]"#, #"[{"n":1},{"n":3}]"#,
            #"[{"n":1,"x":1.0},{"n":3,"x":2.0}]"#
        ),
        (
            #"[{"id":"a","n":1,"x":1.0},{"id":"b","n":2,"x":2.0}]"#, #"[{"id":"a","n":1},{"id":"b","n":2}]"#,
            #"[{"id":"c","n":9},{"id":"b","n":3}]"#, #"[{"id":"c","n":9},{"id":"b","n":3,"x":2.0}]"#
        ),
        // Read as a list of a different length: replaced.
        ("[1.0,2.0,3.0]", "[1,2]", "[1,2,4]", "[1,2,4]"),
    ])
    func elementsAreMatched(text: String, old: String, new: String, expected: String) throws {
        #expect(try JSONText(text).applyingChanges(from: old, to: new).string == expected)
    }

    @Test func noChangeReturnsTheSameText() throws {
        let text = try JSONText(#" {"a": 1.10, "a": 2, "list": [1, {"x": 2}]} "#)
        #expect(try text.applyingChanges(from: #"{"a":2,"list":[1,{}]}"#, to: #"{"list":[1,{}],"a":2}"#) === text)
    }

    @Test func objectWithDuplicateMembersIsAnError() throws {
        let text = try JSONText(#"{"a":1,"a":2}"#)
        #expect(throws: JSONEditError.duplicateMember(name: "a")) {
            try text.applyingChanges(from: #"{"a":2}"#, to: #"{"a":3}"#)
        }
    }
}

extension JSONText {
    fileprivate func applyingChanges(from old: String, to new: String) throws -> JSONText {
        try applyingChanges(from: JSONText(old).root, to: JSONText(new).root)
    }
}
