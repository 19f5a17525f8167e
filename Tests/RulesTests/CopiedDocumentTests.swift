import Testing

@testable import Rules

/// A `put` that copies the changed document with its `_id` and `_rev` fails for each document.
@Suite struct CopiedDocumentTests {
    private static let remedy = "add | del(._id, ._rev, ._attachments) to the program"

    @Test(
        arguments: [
            (".", "keeps '_id' and '_rev'", "write { jq: 'del(._id, ._rev, ._attachments)' }"),
            (#". + {type: "copy"}"#, "keeps '_id' and '_rev'", remedy),
            (#".type = "copy" | .n += 1"#, "keeps '_id' and '_rev'", remedy),
            ("{a: 1} + .", "keeps '_id' and '_rev'", remedy),
            ("del(._id)", "keeps '_rev'", remedy), (#". + {_id: "x"}"#, "keeps '_rev'", remedy),
            ("del(._rev) | . + {n: 1}", nil, ""), ("del(._id, ._rev)", nil, ""), (#"del(.["_id"], ."_rev")"#, nil, ""),
            ("{type, n}", nil, ""), (".a", nil, ""), (".items[]", nil, ""), ("if .a then . else empty end", nil, ""),
            ("with_entries(select(.key | startswith(\"_\") | not))", nil, ""), (". == 1", nil, ""),
        ] as [(String, String?, String)])
    func copyUnderAnotherIDIsAWarning(program: String, part: String?, remedy: String) async throws {
        let put = #"put: {id: {jq: '"b." + ._id'}, document: {jq: '\#(program)'}}"#
        let found = try actionWarnings("name: a, when: {x: 1}, then: [\(put)]").filter {
            $0.contains("the result keeps")
        }
        #expect(found.isEmpty == (part == nil), "\(found)")
        guard let part, let warning = found.first else { return }
        #expect(warning.contains("\(part) of the changed document") && warning.contains(remedy), "\(warning)")
        // It does fail.
        let set = try ruleSet(lines: "name: a, when: {x: 1}, then: [\(put)]")
        #expect(try await set.decided(#"{"_id":"a","_rev":"1-a","x":1,"n":1}"#).error != nil)
    }

    @Test func remedyWorks() async throws {
        let set = try ruleSet(
            lines: #"name: a, when: {x: 1}, then: [put: {id: {jq: '"b." + ._id'}, "#
                + "document: {jq: 'del(._id, ._rev, ._attachments)'}}]")
        let decision = try await set.decided(#"{"_id":"a","_rev":"1-a","x":1,"_attachments":{"p":{"stub":true}}}"#)
        #expect(decision.error == nil && decision.puts.map(\.document.string) == [#"{"x":1,"_id":"b.a"}"#])
    }

    @Test func putWithoutAnIDIsToldToNameADocument() throws {
        let found = try actionWarnings("name: a, when: {x: 1}, then: [put: {document: {jq: .}}]")
        #expect(
            found.contains { $0.contains("say which document to write, id: …, and write { jq: 'del(._id") }, "\(found)")
    }
}
