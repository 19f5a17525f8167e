import LosslessJSON
import Testing

@Suite struct PatchDifferenceTests {
    @Test(arguments: [
        ("{}", "{}", "[]"), (#"{"a":1.0,"b":"\u0061"}"#, #"{"b":"a","a":1}"#, "[]"), ("[[1],2]", "[[1.0], 2]", "[]"),
        ("1", "[]", #"[{"op":"replace","path":"","value":[]}]"#),
        (
            #"{"x":1,"c":1,"y":2}"#, #"{"new":1.10,"c":2}"#,
            #"[{"op":"remove","path":"/x"},{"op":"remove","path":"/y"},{"op":"replace","path":"/c","value":2},{"op":"add","path":"/new","value":1.10}]"#
        ),
        ("[1,2,3]", "[1,9,3]", #"[{"op":"replace","path":"/1","value":9}]"#),
        ("[1,2,3,4]", "[1,4]", #"[{"op":"remove","path":"/2"},{"op":"remove","path":"/1"}]"#),
        ("[1,4]", "[1,2,3,4]", #"[{"op":"add","path":"/1","value":2},{"op":"add","path":"/2","value":3}]"#),
        ("[1,1]", "[1]", #"[{"op":"remove","path":"/1"}]"#),
        (#"{"a":{"x":1,"x":2}}"#, #"{"a":{"x":3}}"#, #"[{"op":"replace","path":"/a","value":{"x":3}}]"#),
    ])
    func differenceIsMinimal(old: String, new: String, expected: String) throws {
        let patch = try JSONPatch.difference(from: json(old), to: json(new))
        #expect(String(decoding: patch.json, as: UTF8.self) == expected)
    }

    @Test func ignoredMembersAreNotCompared() throws {
        let old = try json(#"{"_rev":"1","a":{"_rev":1},"gone":0}"#)
        let new = try json(#"{"_rev":"2","a":{"_rev":2},"gone":0,"_id":"x"}"#)
        let patch = JSONPatch.difference(from: old, to: new, leavingOut: ["_rev", "_id"])
        #expect(String(decoding: patch.json, as: UTF8.self) == #"[{"op":"replace","path":"/a/_rev","value":2}]"#)
    }

    @Test func differenceAppliedToTheOldDocumentGivesTheNew() throws {
        var generator = RandomJSON(seed: 22)
        for _ in 0..<1000 {
            let old = try JSONText(generator.text(generator.value(depth: 4)))
            let new = try JSONText(generator.text(generator.value(depth: 4)))
            let patch = JSONPatch.difference(from: old.root, to: new.root)
            let patched = try old.applying(patch)
            #expect(patched.root.isEquivalent(to: new.root), "\(old.string) to \(new.string)")
            #expect(JSONPatch.difference(from: patched.root, to: new.root).operations.isEmpty)
        }
    }

    @Test func tenThousandLevelsDoNotOverflowTheStack() throws {
        func nested(_ core: String) throws -> JSONText {
            try JSONText(String(repeating: "[", count: 10_000) + core + String(repeating: "]", count: 10_000))
        }
        let (old, new) = (try nested("1"), try nested("2"))
        #expect(try old.applying(.difference(from: old.root, to: new.root)).bytes == new.bytes)
        #expect(new.root.indentedLines().count > 10_000)
    }
}
