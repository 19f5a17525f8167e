import LosslessJSON
import TestKit
import Testing

@Suite struct PatchTests {
    /// The successful examples of RFC 6902, appendix A.
    @Test(arguments: [
        (#"{ "foo": "bar"}"#, #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{ "foo": "bar","baz":"qux"}"#),
        (
            #"{"foo": ["bar", "baz"]}"#, #"[{"op":"add","path":"/foo/1","value":"qux"}]"#,
            #"{"foo": ["bar", "qux","baz"]}"#
        ),
        (#"{"baz": "qux", "foo": "bar"}"#, #"[{"op":"remove","path":"/baz"}]"#, #"{"foo": "bar"}"#),
        (#"{"foo": ["bar", "qux", "baz"]}"#, #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo": ["bar", "baz"]}"#),
        (
            #"{"baz": "qux", "foo": "bar"}"#, #"[{"op":"replace","path":"/baz","value":"boo"}]"#,
            #"{"baz": "boo", "foo": "bar"}"#
        ),
        (
            #"{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}"#,
            #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
            #"{"foo": {"bar": "baz"}, "qux": {"corge": "grault","thud":"fred"}}"#
        ),
        (
            #"{"foo": ["all", "grass", "cows", "eat"]}"#, #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#,
            #"{"foo": ["all", "cows", "eat","grass"]}"#
        ),
        (
            #"{"baz": "qux", "foo": ["a", 2, "c"]}"#,
            #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
            #"{"baz": "qux", "foo": ["a", 2, "c"]}"#
        ),
        (
            #"{"foo":"bar"}"#, #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#,
            #"{"foo":"bar","child":{"grandchild":{}}}"#
        ),
        (#"{"foo":"bar"}"#, #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, #"{"foo":"bar","baz":"qux"}"#),
        (#"{"/":9,"~1":10}"#, #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#),
        (
            #"{"foo":["bar"]}"#, #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#,
            #"{"foo":["bar",["abc","def"]]}"#
        ),
    ])
    func examplesOfTheRFC(text: String, patch: String, expected: String) throws {
        #expect(try JSONText(text).patched(with: patch).string == expected)
    }

    @Test(arguments: [
        // Adding an existing member keeps its position.
        (#"{ "a" : 1 , "b" : 2 }"#, #"[{"op":"add","path":"/a","value":3}]"#, #"{ "a" : 3 , "b" : 2 }"#),
        (#"{ "a" : 1 , "b" : 2 }"#, #"[{"op":"move","from":"/b","path":"/a"}]"#, #"{ "a" : 2 }"#),
        (#"{ "a" : 1 , "b" : 2 }"#, #"[{"op":"copy","from":"/b","path":"/a"}]"#, #"{ "a" : 2 , "b" : 2 }"#),
        // Numbers and values keep their spelling.
        (
            #"{ "n":12345678901234567890123, "f" : 1.10,"x":0 }"#, #"[{"op":"move","from":"/n","path":"/x"}]"#,
            #"{ "f" : 1.10,"x":12345678901234567890123 }"#
        ),
        (
            #"{"a":[1.10]}"#, #"[{"op":"add","path":"/b","value": { "c" : 1.10E+2 } }]"#,
            #"{"a":[1.10],"b":{ "c" : 1.10E+2 }}"#
        ),
        (#"{"a":1.0}"#, #"[{"op":"replace","path":"/a","value":1}]"#, #"{"a":1}"#),
        // The whole document.
        (#" {"a":1} "#, #"[{"op":"add","path":"","value":[1]}]"#, "[1]"),
        ("[[1], 2]", #"[{"op":"copy","from":"/0","path":""}]"#, "[1]"),
        ("1", #"[{"op":"copy","from":"","path":""}]"#, "1"),
        (#"{"a":1}"#, #"[{"op":"copy","from":"","path":"/b"}]"#, #"{"a":1,"b":{"a":1}}"#),
        // Empty and escaped names.
        (#"{"":{"":1}}"#, #"[{"op":"replace","path":"//","value":2}]"#, #"{"":{"":2}}"#),
        (#"{"m~n":1,"a/b":2}"#, #"[{"op":"move","from":"/m~0n","path":"/a~1b"}]"#, #"{"a/b":1}"#),
        (
            #"{"0":1}"#, #"[{"op":"add","path":"/00","value":2},{"op":"add","path":"/-","value":3}]"#,
            #"{"0":1,"00":2,"-":3}"#
        ),
        // Each operation sees the result of the previous ones.
        (
            "[1,2,3]",
            #"[{"op":"remove","path":"/0"},{"op":"remove","path":"/0"},{"op":"test","path":"","value":[3]}]"#, "[3]"
        ),
        ("{}", #"[{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b","value":null}]"#, #"{"a":{"b":null}}"#),
    ])
    func patchChangesOnlyNamedPlaces(text: String, patch: String, expected: String) throws {
        #expect(try JSONText(text).patched(with: patch).string == expected)
    }

    @Test(arguments: [
        "[]", #"[{"op":"test","path":"/a","value":1}]"#, #"[{"op":"move","from":"/a","path":"/a"}]"#,
        #"[{"op":"add","path":"/a","value":1.0}]"#, #"[{"op":"copy","from":"/l/0","path":"/a"}]"#,
        #"[{"op":"test","path":"","value":{"l":[1],"a":1}}]"#, #"[{"op":"test","path":"/a","value":100e-2}]"#,
    ])
    func patchWithoutChangeReturnsTheSameText(patch: String) throws {
        let text = try JSONText(#"{ "a" : 1.0, "l" : [ 1.0 ] }"#)
        #expect(try text.patched(with: patch) === text)
    }

    @Test(arguments: ["/a", "/none", "/none/b", "/l/1", "/l/00", "/l/-", "/a/b", ""])
    func testOfADifferentOrMissingValueFails(pointer: String) throws {
        let patch = try JSONPatch(
            json(#"[{"op":"add","path":"/x","value":1},{"op":"test","path":"\#(pointer)","value":9}]"#))
        let error = JSONPatchError(.testFailed(try JSONPointer(pointer)), at: 1)
        #expect(throws: error) { try JSONText(#"{"a":1,"l":[9]}"#).applying(patch) }
    }

    @Test(arguments: [
        (#"{"op":"remove","path":"/none"}"#, "/none"), (#"{"op":"remove","path":""}"#, ""),
        (#"{"op":"remove","path":"/l/-"}"#, "/l/-"), (#"{"op":"remove","path":"/l/01"}"#, "/l/01"),
        (#"{"op":"replace","path":"/none","value":1}"#, "/none"),
        (#"{"op":"replace","path":"/l/-","value":1}"#, "/l/-"),
        (#"{"op":"replace","path":"/l/2","value":1}"#, "/l/2"), (#"{"op":"add","path":"/l/3","value":1}"#, "/l/3"),
        (#"{"op":"add","path":"/none/b","value":1}"#, "/none"), (#"{"op":"add","path":"/a/b","value":1}"#, "/a/b"),
        (#"{"op":"add","path":"/l/00","value":1}"#, "/l/00"), (#"{"op":"add","path":"/l/x","value":1}"#, "/l/x"),
        (#"{"op":"add","path":"/l/","value":1}"#, "/l/"), (#"{"op":"add","path":"/l/-1","value":1}"#, "/l/-1"),
        (
            #"{"op":"add","path":"/l/99999999999999999999999","value":1}"#, "/l/99999999999999999999999"
        ),
        (#"{"op":"add","path":"/l/9223372036854775807","value":1}"#, "/l/9223372036854775807"),
        (#"{"op":"move","from":"/none","path":"/b"}"#, "/none"),
        (#"{"op":"move","from":"/none","path":"/none"}"#, "/none"),
        (#"{"op":"move","from":"/l/0","path":"/l/2"}"#, "/l/2"),
        (#"{"op":"copy","from":"/none","path":"/b"}"#, "/none"),
    ])
    func missingPlacesAreRefused(operation: String, place: String) throws {
        let error = JSONPatchError(.edit(.noSuchPlace(try JSONPointer(place))), at: 0)
        #expect(throws: error) { try JSONText(#"{"a":1,"l":[1,2]}"#).patched(with: "[\(operation)]") }
    }

    @Test(arguments: [("", "/a"), ("/a", "/a/b"), ("/a", "/a/b/c"), ("/l/0", "/l/0/-")])
    func moveOfAValueIntoItselfIsRefused(origin: String, path: String) throws {
        let error = JSONPatchError(.moveIntoItself(try JSONPointer(origin)), at: 0)
        #expect(throws: error) {
            try JSONText(#"{"a":{"b":{}},"l":[[]]}"#).patched(
                with: #"[{"op":"move","from":"\#(origin)","path":"\#(path)"}]"#)
        }
    }

    @Test func nameWithACommonPrefixIsNotWithin() throws {
        #expect(
            try JSONText(#"{"a":1}"#).patched(with: #"[{"op":"move","from":"/a","path":"/ab"}]"#).string == #"{"ab":1}"#
        )
    }

    @Test(arguments: [
        #"{"op":"add","path":"/a","value":1}"#, #"{"op":"test","path":"/a","value":2}"#,
        #"{"op":"remove","path":"/a"}"#,
        #"{"op":"replace","path":"/a","value":1}"#, #"{"op":"copy","from":"/a","path":"/b"}"#,
        #"{"op":"move","from":"/a","path":"/b"}"#,
    ])
    func pathThroughDuplicateMembersIsRefused(operation: String) throws {
        let error = JSONPatchError(.edit(.duplicateMember(name: "a")), at: 0)
        #expect(throws: error) { try JSONText(#"{"a":1,"b":0,"\u0061":2}"#).patched(with: "[\(operation)]") }
    }
}

/// Patches that only an attacker or a program would write.
@Suite struct HostilePatchTests {
    @Test func placeAThousandLevelsDeepCanBeChanged() throws {
        let depth = 1000
        let text = try JSONText(String(repeating: "[", count: depth) + String(repeating: "]", count: depth))
        let pointer = JSONPointer(tokens: Array(repeating: "0", count: depth - 1) + ["-"])
        let patched = try text.applying(JSONPatch(operations: [.add(pointer, try JSONText("{}"))]))
        #expect(patched.string == String(repeating: "[", count: depth) + "{}" + String(repeating: "]", count: depth))
        #expect(
            try patched.applying(JSONPatch(operations: [.remove(pointer.replacingLast("0"))])).string == text.string)
    }

    @Test func tooDeepPatchIsRefused() throws {
        let deep = try JSONText(String(repeating: "[", count: 9_999) + String(repeating: "]", count: 9_999))
        let patch = JSONPatch(operations: [.add(try JSONPointer("/a/b"), deep)])
        #expect(throws: JSONPatchError.self) { try JSONText(#"{"a":{}}"#).applying(patch) }
    }

    /// Forty of them would give a text of a terabyte.
    @Test func doublingCopiesAreRefusedInTime() throws {
        let text = try JSONText("{\"a\":\"" + String(repeating: "x", count: 10 << 20) + "\"}")
        let copies = (0..<40).map { number in
            JSONPatch.Operation.copy(from: JSONPointer(tokens: []), to: JSONPointer(tokens: ["\(number)"]))
        }
        let error = JSONPatchError(.edit(.invalidValue(JSONError(.tooLong(limit: 32 << 20), at: 0))), at: 1)
        #expect(throws: error) { try text.applying(JSONPatch(operations: copies)) }
    }

    /// Most are refused, and none gives invalid JSON.
    @Test func randomOperationsGiveJSONOrAnError() throws {
        var generator = RandomJSON(seed: 20)
        var applied = 0
        for _ in 0..<3000 {
            let text = try JSONText(generator.text(generator.document()))
            let value = try JSONText(generator.text(generator.value(depth: 2)))
            let patch = JSONPatch(operations: [generator.operation(value), generator.operation(value)])
            guard let patched = try? text.applying(patch) else { continue }
            applied += 1
            #expect(try Model(JSONText(patched.bytes).root) == Model(patched.root))
        }
        #expect(applied > 50)
    }
}

extension RandomJSON {
    fileprivate mutating func operation(_ value: JSONText) -> JSONPatch.Operation {
        switch random.below(6) {
        case 0: .add(pointer(), value)
        case 1: .remove(pointer())
        case 2: .replace(pointer(), value)
        case 3: .move(from: pointer(), to: pointer())
        case 4: .copy(from: pointer(), to: pointer())
        default: .test(pointer(), value)
        }
    }

    private mutating func pointer() -> JSONPointer {
        JSONPointer(
            tokens: (0..<random.below(3)).map { _ in random.pick(["a", "b", "type", "", "0", "1", "-", "m~n"]) })
    }
}

extension JSONPointer {
    fileprivate func replacingLast(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens.dropLast() + [token]) }
}
