import LosslessJSON
import Testing

/// Edits by pointer: the exact resulting bytes.
@Suite struct EditTests {
    @Test(arguments: [
        // An existing member: only its value.
        (#"{ "a" : 1 , "b":2}"#, "/a", "9", #"{ "a" : 9 , "b":2}"#),
        (#"{"a":1,"b" : 2 }"#, "/b", "{}", #"{"a":1,"b" : {} }"#),
        (#"{"a":1,"b":[ 2 ],"c":3}"#, "/b", #""x""#, #"{"a":1,"b":"x","c":3}"#),
        (#"{"\u0061":1}"#, "/a", "2", #"{"\u0061":2}"#),
        // A new member: after the last one.
        ("{}", "/a", "1", #"{"a":1}"#), ("{ }", "/a", "1", #"{"a":1 }"#),
        ("{\n  \"a\": 1\n}", "/b", "2", "{\n  \"a\": 1,\"b\":2\n}"),
        (#"{"a":{}}"#, "/a/b", "1", #"{"a":{"b":1}}"#), (#"{"a":[{"x":1}]}"#, "/a/0/y", "2", #"{"a":[{"x":1,"y":2}]}"#),
        (#"{"a":1}"#, "/m~0n~1\"", "2", #"{"a":1,"m~n/\"":2}"#), ("{}", "/", "1", #"{"":1}"#),
        // Elements.
        ("[ 1 , 2 , 3 ]", "/0", "9", "[ 9 , 2 , 3 ]"), ("[ 1 , 2 , 3 ]", "/2", "9", "[ 1 , 2 , 9 ]"),
        ("[]", "/-", "1", "[1]"),
        ("[1, 2 ]", "/-", "3", "[1, 2,3 ]"),
        // The whole document.
        (#"{"a":1}"#, "", "[]", "[]"), ("1", "", " 2 ", " 2 "),
    ])
    func settingReplacesOnlyTheValue(text: String, pointer: String, value: String, expected: String) throws {
        #expect(try JSONText(text).setting(pointer, to: value).string == expected)
    }

    @Test(arguments: [
        ("[1,2]", "/0", "[9,1,2]"), ("[ 1, 2 ]", "/1", "[ 1, 9,2 ]"), ("[ 1, 2 ]", "/2", "[ 1, 2,9 ]"),
        ("[1]", "/-", "[1,9]"), ("[ ]", "/0", "[9 ]"),
        (#"{"a":[[],[1]]}"#, "/a/0/-", #"{"a":[[9],[1]]}"#),
    ])
    func insertingAddsOnlyTheValue(text: String, pointer: String, expected: String) throws {
        #expect(try JSONText(text).inserting("9", at: pointer).string == expected)
    }

    @Test(arguments: [
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, "/a", #"{ "b" : 2 , "c" : 3 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, "/b", #"{ "a" : 1 , "c" : 3 }"#),
        (#"{ "a" : 1 , "b" : 2 , "c" : 3 }"#, "/c", #"{ "a" : 1 , "b" : 2 }"#), (#"{ "a" : 1 }"#, "/a", "{  }"),
        (#"{"a":1}"#, "/a", "{}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", "/b", "{\n  \"a\": 1\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", "/a", "{\n  \"b\": 2\n}"),
        ("[ 1 , 2 , 3 ]", "/0", "[ 2 , 3 ]"), ("[ 1 , 2 , 3 ]", "/1", "[ 1 , 3 ]"),
        ("[ 1 , 2 , 3 ]", "/2", "[ 1 , 2 ]"), ("[[1]]", "/0/0", "[[]]"),
        (#"{"a":{"b":[{"c":1,"d":2}]}}"#, "/a/b/0/c", #"{"a":{"b":[{"d":2}]}}"#),
    ])
    func removingDeletesOnlyTheValue(text: String, pointer: String, expected: String) throws {
        #expect(try JSONText(text).removing(pointer).string == expected)
    }

    @Test func settingTheSameValueReturnsTheSameText() throws {
        let text = try JSONText(#"{ "a" : [ 1.0 , {} ] }"#)
        #expect(try text.setting("/a", to: "[ 1.0 , {} ]") === text)
        #expect(try text.setting("/a/0", to: "1.0") === text)
        #expect(try text.setting("", to: text.string) === text)
        #expect(try text.setting("/a/0", to: "1") !== text)
    }

    /// Regression: spliced into the text, such a value was accepted as valid JSON with unintended members.
    @Test(arguments: [#"1,"admin":true"#, "1}", "1],[2", "", " ", "1 2", "NaN", "\"a", "{", "[1,]", "\u{FEFF}1"])
    func valueMustBeJSONByItself(value: String) throws {
        let text = try JSONText(#"{"a":1,"list":[1,[2]]}"#)
        for pointer in ["/a", "/new", "/list/0", "/list/-", "/list/1/0", ""] {
            #expect(throws: JSONEditError.invalidValue(try error(of: value.utf8))) {
                try text.setting(pointer, to: value)
            }
        }
        #expect(throws: JSONEditError.invalidValue(try error(of: value.utf8))) {
            try text.inserting(value, at: "/list/0")
        }
    }

    @Test(arguments: ["/a/b", "/list/3", "/list/01", "/list/x", "/none/b", "/list/0/x"]) func missingPlacesAreRefused(
        pointer: String
    ) throws {
        let text = try JSONText(#"{"a":1,"list":[1,[2],3]}"#)
        #expect(throws: JSONEditError.self) { try text.setting(pointer, to: "1") }
        #expect(throws: JSONEditError.self) { try text.removing(pointer) }
    }

    @Test func meaninglessRemovalsAndInsertionsAreRefused() throws {
        let text = try JSONText(#"{"a":1,"list":[1]}"#)
        for pointer in ["", "/b", "/list/1", "/list/-"] {
            #expect(throws: JSONEditError.noSuchPlace(try JSONPointer(pointer))) { try text.removing(pointer) }
        }
        for pointer in ["", "/list/2", "/list/x"] {
            #expect(throws: JSONEditError.noSuchPlace(try JSONPointer(pointer))) {
                try text.inserting("1", at: pointer)
            }
        }
        #expect(throws: JSONEditError.noSuchPlace(try JSONPointer("/b"))) { try text.inserting("1", at: "/b") }
    }

    @Test(arguments: [#"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"b":0,"a":1,"c":0,"a":2}"#])
    func objectWithDuplicateMembersIsNotEdited(text: String) throws {
        let error = JSONEditError.duplicateMember(name: "a")
        #expect(throws: error) { try JSONText(text).setting("/b", to: "1") }
        #expect(throws: error) { try JSONText(text).removing("/a") }
        #expect(throws: error) { try JSONText(text).merging(#"{"b":1}"#) }
        #expect(throws: error) { try JSONText("{\"x\":" + text + "}").merging(#"{"x":{"b":1}}"#) }
    }

    /// Regression: the path was accepted, and the last duplicate was edited.
    @Test func pathThroughDuplicateMembersIsRefused() throws {
        let text = try JSONText(#"{"a":{"x":[1]},"a":{"x":[2]}}"#)
        let error = JSONEditError.duplicateMember(name: "a")
        #expect(throws: error) { try text.setting("/a/x/0", to: "1") }
        #expect(throws: error) { try text.inserting("1", at: "/a/x/0") }
        #expect(throws: error) { try text.removing("/a/x") }
    }

    @Test func duplicatesElsewhereDoNotPreventAnEdit() throws {
        let text = try JSONText(#"{"twice":{"a":1,"a":2},"b":1}"#)
        #expect(try text.setting("/b", to: "2").string == #"{"twice":{"a":1,"a":2},"b":2}"#)
    }
}
