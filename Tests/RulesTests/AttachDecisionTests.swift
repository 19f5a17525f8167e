import Foundation
import LosslessJSON
import Testing

@testable import Rules

@Suite struct AttachDecisionTests {
    /// A rule set with one attached file, which is deleted before the first decision.
    private func set(_ lines: String..., content: String = "hello\n") throws -> RuleSet {
        let file = FileManager.default.temporaryDirectory.appending(path: "note-\(UUID().uuidString).txt")
        try Data(content.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let text = lines.map { "- {\($0.replacing("FILE", with: file.path))}\n" }.joined()
        return try ruleSet("version: 1\nrules:\n" + text)
    }

    private static let stub =
        #"{"content_type":"text/plain","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6,"stub":true}"#
    private static let sent = #"{"content_type":"text/plain","data":"aGVsbG8K"}"#
    private static let attach = "name: a, when: {x: 1}, then: [attach: {name: note, file: FILE}]"

    @Test(arguments: [
        (#"{"x":1}"#, #"{"x":1,"_attachments":{"note":NOTE}}"#),
        (#"{"x":1,"_attachments":{}}"#, #"{"x":1,"_attachments":{"note":NOTE}}"#),
        (
            #"{"_attachments": {"b":{"stub":true}} ,"x":1}"#,
            #"{"_attachments": {"b":{"stub":true},"note":NOTE} ,"x":1}"#
        ),
        (
            #"{"_attachments":{"note":{"content_type":"text/plain","digest":"md5-AAAA","stub":true},"b":{}},"x":1}"#,
            #"{"_attachments":{"note":NOTE,"b":{}},"x":1}"#
        ),
        (
            #"{"x":1,"_attachments":{"note":{"content_type":"a/b","digest":"md5-sZRqySSS0jR8YjW00mERhA=="}}}"#,
            #"{"x":1,"_attachments":{"note":NOTE}}"#
        ),
    ])
    func placeholderStandsForTheContent(document: String, expected: String) throws {
        let decision = try set(Self.attach).decide(document)
        #expect(decision.error == nil)
        #expect(decision.isChanged)
        #expect(decision.document.string == expected.replacing("NOTE", with: Self.stub))
        let segments = decision.bodySegments()
        #expect(String(decoding: segments.joined(), as: UTF8.self) == expected.replacing("NOTE", with: Self.sent))
        #expect(try JSONText(Array(segments.joined())).root.kind == .object)
    }

    @Test(arguments: [
        #"{"x":1,"_attachments":{"note":{"stub":true,"content_type":"text/plain","digest":"md5-sZRqySSS0jR8YjW00mERhA=="}}}"#,
        #"{"x":1,"_attachments":{"note":\#(stub)}}"#,
    ])
    func sameContentIsNotAttachedAgain(document: String) throws {
        let decision = try set(Self.attach).decide(document)
        #expect(decision.fired == [0])
        #expect(!decision.isChanged)
        #expect(decision.attachments.isEmpty)
        #expect(decision.bodySegments() == [Array(document.utf8)])
    }

    @Test(arguments: [#"{"x":1,"_attachments":null}"#, #"{"x":1,"_attachments":"none"}"#])
    func attachmentsMemberMustBeAnObject(document: String) throws {
        let error = try set(Self.attach).decide(document).error
        #expect(error?.description == "rule 'a': the path '/_attachments/note' does not exist in the document")
    }

    @Test func duplicateAttachmentNamesAreAnError() throws {
        let error = try set(Self.attach).decide(#"{"x":1,"_attachments":{"b":1,"b":2}}"#).error
        #expect(error?.reason.hasPrefix("two members are named 'b'") == true)
    }

    @Test func laterRulesSeeTheAttachment() throws {
        let set = try set(
            "name: seen, when: {_attachments.note.length: 6}, then: [merge: {seen: true}]", Self.attach,
            "name: missing, when: {x: 1, _attachments.other: {$exists: false}}, then: [attach: {name: other, file: FILE}]"
        )
        let decision = try set.decide(#"{"x":1}"#)
        #expect(decision.fired.map { set.names[$0] } == ["a", "missing", "seen"])
        #expect(decision.attachments.keys.sorted() == ["note", "other"])
        #expect(
            String(decoding: decision.bodySegments().joined(), as: UTF8.self)
                == #"{"x":1,"_attachments":{"note":\#(Self.sent),"other":\#(Self.sent)},"seen":true}"#)
    }

    @Test func base64IsShared() throws {
        let set = try set(Self.attach, content: String(repeating: "picture ", count: 1_000))
        func storage(_ bytes: [UInt8]) -> UnsafeRawPointer? { bytes.withUnsafeBytes { $0.baseAddress } }
        let decisions = try (0..<3).map { try set.decide(#"{"_id":"\#($0)","x":1}"#) }
        let base64 = try #require(decisions[0].attachments["note"]?.content.base64)
        #expect(decisions.allSatisfy { storage($0.bodySegments()[1]) == storage(base64) })
    }

    @Test func attachmentNamesMayContainAnyCharacter() throws {
        let set = try set(#"name: a, when: {x: 1}, then: [attach: {name: "a/b~ \"é", file: FILE}]"#)
        let decision = try set.decide(#"{"x":1,"_attachments":{"a":{}}}"#)
        #expect(decision.error == nil)
        #expect(decision.document.string == #"{"x":1,"_attachments":{"a":{},"a/b~ \"é":\#(Self.stub)}}"#)
        #expect(decision.bodySegments().count == 3)
    }
}
