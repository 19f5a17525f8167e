import Testing

@testable import Rules

/// Rules whose `put`s create documents that fire rules again, each time with a longer id.
@Suite struct PutChainTests {
    private func loops(_ rules: [String]) throws -> [String] {
        try warnings(rules).filter { $0.hasSuffix("[rule-loop]") }
    }

    private static func put(_ name: String, _ when: String, _ id: String, _ type: String) -> String {
        "name: \(name), when: \(when), then: [{put: {id: {jq: '\(id)'}, document: {type: \(type)}}}]"
    }

    @Test func rulesThatCreateEachOthersDocumentsAreALoop() throws {
        let found = try loops([
            Self.put("ping", "{type: ping}", #""pong:" + ._id"#, "pong"),
            Self.put("pong", "{type: pong}", #""ping:\(._id)""#, "ping"),
        ])
        #expect(found.count == 1)
        #expect(
            found.first?.contains(
                "rule 'ping': it and 'pong' (r.yaml:4) each fire for the documents that the other puts, each time with "
                    + "another '_id', in an endless rule loop") == true, "\(found)")
    }

    @Test func ruleThatFiresForItsOwnCopiesIsALoop() throws {
        let found = try loops([Self.put("copy", "{type: x}", #"._id + "-copy""#, "x")])
        #expect(found.first?.contains("it fires for the documents that it puts") == true, "\(found)")
    }

    @Test func chainOfThreeIsALoop() throws {
        let found = try loops([
            Self.put("a", "{type: a}", #""b:" + ._id"#, "b"), Self.put("b", "{type: b}", #""c:" + ._id"#, "c"),
            Self.put("c", "{type: c}", #""a:" + ._id"#, "a"),
        ])
        #expect(
            found.first?.contains("it, 'b' (r.yaml:4) and 'c' (r.yaml:5) each fire for documents that") == true,
            "\(found)")
    }

    @Test(arguments: [
        // The chain ends.
        [put("a", "{type: a}", #""b:" + ._id"#, "b"), put("b", "{type: b}", #""c:" + ._id"#, "c")],
        // The same id each time.
        [put("a", "{type: a}", #""b:" + .list"#, "b"), put("b", "{type: b}", #""a:" + .list"#, "a")],
        // The new document does not have the member.
        [put("copy", "{type: x, copied: false}", #""copy:" + ._id"#, "x")],
        // The id may be excluded.
        [put("copy", #"{type: x, _id: {$regex: "^x"}}"#, #""copy:" + ._id"#, "x")],
        // The program may not lengthen the id.
        [put("copy", "{type: x}", #"._id[0:3] + "x""#, "x")],
    ])
    func otherRulesAreNoLoop(rules: [String]) throws { #expect(try loops(rules) == []) }
}
