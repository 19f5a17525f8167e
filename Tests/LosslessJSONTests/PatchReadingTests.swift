import LosslessJSON
import Testing

/// From patch documents to operations and back.
@Suite struct PatchReadingTests {
    @Test(arguments: [
        ("{}", nil as Int?), ("null", nil), (#""remove""#, nil), ("[1]", 0), ("[[]]", 0), ("[{}]", 0),
        (#"[{"op":"remove","path":"/a"},{"op":"spam","path":"/a"}]"#, 1), (#"[{"op":1,"path":"/a"}]"#, 0),
        (#"[{"op":"Remove","path":"/a"}]"#, 0), (#"[{"op":"remove"}]"#, 0), (#"[{"op":"remove","path":null}]"#, 0),
        (#"[{"op":"remove","path":["a"]}]"#, 0), (#"[{"op":"remove","path":"a"}]"#, 0),
        (#"[{"op":"remove","path":"/~"}]"#, 0), (#"[{"op":"remove","path":"/~2"}]"#, 0),
        (#"[{"op":"add","path":"/a"}]"#, 0), (#"[{"op":"replace","path":"/a"}]"#, 0),
        (#"[{"op":"test","path":"/a"}]"#, 0),
        (#"[{"op":"move","path":"/a"}]"#, 0), (#"[{"op":"copy","path":"/a","from":1}]"#, 0),
        (#"[{"op":"copy","from":"/a"}]"#, 0), (#"[{"op":"copy","from":"a","path":"/a"}]"#, 0),
        (#"[{"op":"add","op":"add","path":"/a","value":1}]"#, 0),
        (#"[{"op":"add","path":"/a","\u0070ath":"/a","value":1}]"#, 0),
        (#"[{"op":"add","path":"/a","value":1,"value":1}]"#, 0),
        (#"[{"op":"move","path":"/a","from":"/b","from":"/b"}]"#, 0),
    ])
    func errorNamesTheMalformedOperation(patch: String, operation: Int?) throws {
        let patch = try json(patch)
        let error = try #require(throws: JSONPatchError.self) { try JSONPatch(patch) }
        #expect(error.operation == operation)
        guard case .malformed = error.reason else { throw Unexpected("\(error.reason)") }
    }

    @Test(arguments: [
        (#"[{"op":"add","path":"/a"}]"#, "operation 1: add needs a 'value' (it may be null)"),
        (
            #"[{"op":"test","path":"/a","value":1},{"path":"/a"}]"#,
            "operation 2: give it an 'op': add, remove, replace, move, copy or test"
        ),
        (
            #"[{"op":"remove","path":"a"}]"#,
            "operation 1: 'a' is not a JSON Pointer: it must be empty or begin with '/'"
        ),
        (#"[{"op":"remove","path":"/a","path":""}]"#, "operation 1: it has 'path' twice; remove one of them"),
        ("{}", "a JSON Patch is a list of operations: write them between [ and ]"),
    ])
    func errorNamesTheRemedy(patch: String, description: String) throws {
        let patch = try json(patch)
        #expect(try #require(throws: JSONPatchError.self) { try JSONPatch(patch) }.description == description)
    }

    @Test(arguments: [
        (
            JSONPatchError.Reason.testFailed(JSONPointer(tokens: ["a/b"])),
            "the document does not have the tested value at '/a~1b'"
        ),
        (.edit(.noSuchPlace(JSONPointer(tokens: ["a"]))), "the path '/a' does not exist in the document"),
        (.edit(.noSuchPlace(JSONPointer(tokens: []))), "the whole document can't be removed"),
        (
            .edit(.invalidValue(JSONError(.tooDeep(limit: 9), at: 1))),
            "the result would be refused: nested deeper than 9 levels"
        ),
        (.moveIntoItself(JSONPointer(tokens: ["a"])), "the value at '/a' can't be moved into itself"),
    ])
    func errorNamesTheReason(reason: JSONPatchError.Reason, description: String) {
        #expect(JSONPatchError(reason, at: 7).description == "operation 8: " + description)
    }

    @Test(arguments: [
        "[]",
        #"[{"op":"add","path":"/a~1b/m~0n//-","value":{"x":[1.10,12345678901234567890123," \" \\"]}}]"#,
        #"[{"op":"remove","path":""},{"op":"test","path":"/é","value":"\u00e9\t"}]"#,
        #"[{"op":"move","path":"/a","from":"/b"},{"op":"copy","path":"/\"","from":""}]"#,
    ])
    func writtenPatchEqualsTheOriginal(patch: String) throws {
        #expect(try String(decoding: JSONPatch(json(patch)).json, as: UTF8.self) == patch)
    }

    @Test func writtenPatchIsOneLine() throws {
        let patch = try JSONPatch(
            json(
                "[ {\"value\" :{\n\t\"a b\" : [ 1.10 ,\r\n \" \\\" , \" ] } ,\"path\":\"\",\"op\":\"add\",\"x\":{}} ]"
            ))
        #expect(
            String(decoding: patch.json, as: UTF8.self) == #"[{"op":"add","path":"","value":{"a b":[1.10," \" , "]}}]"#)
    }

    @Test func unknownMembersAreIgnored() throws {
        let patch = try JSONPatch(json(#"[{"x":1,"op":"remove","x":2,"path":"/a","value":3,"value":4}]"#))
        #expect(String(decoding: patch.json, as: UTF8.self) == #"[{"op":"remove","path":"/a"}]"#)
    }

    @Test func valueEqualsASeparateScan() throws {
        var generator = RandomJSON(seed: 21)
        for _ in 0..<300 {
            let value = generator.text(generator.value(depth: 4))
            let patch = try JSONPatch(
                json(#"[{"op":"add","path":"/a","value":\#(String(decoding: value, as: UTF8.self))}]"#))
            guard case .add(_, let read) = try #require(patch.operations.first) else { throw Unexpected("no add") }
            let alone = try JSONText(value)
            #expect(read.bytes == Array(alone.root.bytes))
            #expect(Model(read.root) == Model(alone.root))
            #expect(read.root.isEquivalent(to: alone.root))
        }
    }
}
