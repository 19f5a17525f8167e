import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Blobs in the format of Couchbase Lite 2 and later.
@Suite(.limitedParallelism) struct BlobTests {
    /// A rule set that attaches `hello\n` from a file, which is deleted before the first decision.
    private func set(_ then: String) throws -> RuleSet {
        let file = FileManager.default.temporaryDirectory.appending(path: "note-\(UUID().uuidString).png")
        try Data("hello\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ruleSet(lines: "name: a, when: {}, then: [\(then.replacing("FILE", with: file.path))]")
    }

    private static let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="
    private static let blob =
        #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":6}"#
    private static let stub = #"{"content_type":"image/png","digest":"\#(sha1)","length":6,"stub":true}"#
    private static let couchDBStub =
        #"{"content_type":"image/png","revpos":2,"digest":"md5-sZRqySSS0jR8YjW00mERhA==","length":6,"stub":true}"#
    private static let sent = #"{"content_type":"image/png","data":"aGVsbG8K"}"#

    @Test(arguments: [
        ("image", #"{"x":1}"#, #"{"x":1,"image":BLOB,"_attachments":{"blob_/image":SENT}}"#),
        ("/image", #"{"image":null}"#, #"{"image":BLOB,"_attachments":{"blob_/image":SENT}}"#),
        ("/a/b", #"{"a":{}}"#, #"{"a":{"b":BLOB},"_attachments":{"blob_/a/b":SENT}}"#),
        ("/photos/1", #"{"photos":[1,2,3]}"#, #"{"photos":[1,BLOB,3],"_attachments":{"blob_/photos/1":SENT}}"#),
        ("/a~1b~0", "{}", #"{"a/b~":BLOB,"_attachments":{"blob_/a~1b~0":SENT}}"#),
        ("a~b", "{}", #"{"a~b":BLOB,"_attachments":{"blob_/a~0b":SENT}}"#),
        ("/photos/-", #"{"photos":{}}"#, #"{"photos":{"-":BLOB},"_attachments":{"blob_/photos/-":SENT}}"#),
    ])
    func memberAndAttachmentAreWrittenTogether(blob: String, document: String, expected: String) throws {
        let decision = try set("attach: {blob: '\(blob)', file: FILE}").decide(document)
        #expect(decision.error == nil)
        let sent = String(decoding: decision.bodySegments().joined(), as: UTF8.self)
        #expect(sent == expected.replacing("BLOB", with: Self.blob).replacing("SENT", with: Self.sent))
        // The gateway's stub for it needs no further change.
        let stored = expected.replacing("BLOB", with: Self.blob)
        for stub in [Self.stub, Self.couchDBStub] {
            let next = try set("attach: {blob: '\(blob)', file: FILE}").decide(stored.replacing("SENT", with: stub))
            #expect(next.fired == [0])
            #expect(!next.isChanged)
        }
    }

    @Test(
        arguments: [
            #"{"@type":"blob","content_type":"image/png","digest":"sha1-AAAA","length":6}"#,
            #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":7}"#,
            #"{"@type":"blob","content_type":"image/gif","digest":"\#(sha1)","length":6}"#,
            #"{"@type":"blob","content_type":"image/png","digest":null,"length":6}"#,
            #"{"content_type":"image/png","digest":"\#(sha1)","length":6}"#, #""apple.png""#,
        ], [stub, couchDBStub])
    func mismatchedMemberIsRepairedWithoutAttachment(member: String, stub: String) throws {
        let decision = try set("attach: {blob: image, file: FILE}")
            .decide(#"{"image":\#(member),"_attachments":{"blob_/image":\#(stub)}}"#)
        #expect(decision.error == nil)
        #expect(decision.attachments.isEmpty)
        #expect(
            decision.document.string == #"{"image":\#(Self.blob),"_attachments":{"blob_/image":\#(stub)}}"#)
    }

    @Test(arguments: [
        "", #","_attachments":{}"#,
        #","_attachments":{"blob_/image":{"content_type":"image/png","digest":"sha1-AAAA","length":6,"stub":true}}"#,
        #","_attachments":{"blob_/image":{"content_type":"image/png","digest":"md5-AAAA","length":6,"stub":true}}"#,
        #","_attachments":{"blob_/image":{"content_type":"a/b","digest":"\#(sha1)","length":6,"stub":true}}"#,
    ])
    func mismatchedAttachmentIsRepaired(attachments: String) throws {
        let decision = try set("attach: {blob: image, file: FILE}").decide(#"{"image":\#(Self.blob)\#(attachments)}"#)
        #expect(decision.error == nil)
        let sent = String(decoding: decision.bodySegments().joined(), as: UTF8.self)
        #expect(sent == #"{"image":\#(Self.blob),"_attachments":{"blob_/image":\#(Self.sent)}}"#)
    }

    @Test func otherMembersOfABlobAreKept() throws {
        let old = #"{"@type":"blob","alt":"an apple","digest":"sha1-AAAA","length":1,"content_type":"image/png"}"#
        let decision = try set("attach: {blob: image, file: FILE}").decide(#"{"image":\#(old)}"#)
        #expect(
            decision.document.root["image"]?.bytes.elementsEqual(
                #"{"@type":"blob","alt":"an apple","digest":"\#(Self.sha1)","length":6,"content_type":"image/png"}"#
                    .utf8) == true)
    }

    @Test(arguments: [
        ("/a/b", "{}", "there is no '/a' to hold the blob '/a/b'; write it first, with merge"),
        ("/a/b", #"{"a":"x"}"#, "'/a' is neither an object nor a list, so it can't hold the blob '/a/b'"),
        ("/a/b", #"{"a":null}"#, "'/a' is neither an object nor a list"),
        ("/a/1", #"{"a":[1]}"#, "the list '/a' has no element 1; name one that exists"),
        ("/a/x", #"{"a":[1]}"#, "the list '/a' has no element x"),
        ("/a/-", #"{"a":[1]}"#, "'-' would add another blob to '/a' at each change"),
    ])
    func unwritablePlaceIsAnError(blob: String, document: String, error: String) throws {
        let decision = try set("attach: {blob: \(blob), file: FILE}").decide(document)
        #expect(decision.error?.description.contains("rule 'a': attach: \(error)") == true, "\(decision.error as Any)")
        #expect(!decision.isChanged)
    }

    @Test(arguments: [
        ("attach: {blob: photos/0, file: FILE}", "for a nested member write blob: /photos/0"),
        ("attach: {blob: photos.0, file: FILE}", "for a nested member write blob: /photos/0"),
        ("attach: {blob: /a~2, file: FILE}", "'~' must be followed by 0 or 1"),
        ("attach: {blob: _id, file: FILE}", "'/_id' can't be a blob"),
        ("attach: {blob: /_attachments/x, file: FILE}", "can't be a blob"),
        ("attach: {blob: a, name: b, file: FILE}", "a blob determines the name of its attachment"),
        ("attach: {file: FILE}", "name the attachment: name: image, or blob: image"),
        ("detach: {blob: a.b}", "for a nested member write blob: /a/b"), ("detach: {}", "name: image, or blob: image"),
    ])
    func invalidPlaceIsAnErrorOfTheRuleFile(then: String, error: String) {
        let text = "version: 1\nrules:\n- { name: a, when: {}, then: [\(then.replacing("FILE", with: #filePath))] }\n"
        let found = errors(text)
        #expect(found.count == 1 && found[0].hasPrefix("r.yaml:3:") && found[0].contains(error), "\(found)")
    }

    @Test(arguments: [
        (
            "image", #"{"x":1,"image":\#(blob),"_attachments":{"blob_/image":\#(stub),"b":{}}}"#,
            #"{"x":1,"_attachments":{"b":{}}}"#
        ),
        ("image", #"{"x":1,"image":\#(blob)}"#, #"{"x":1}"#),
        ("image", #"{"image":"text","_attachments":{"blob_/image":\#(stub)}}"#, #"{"image":"text"}"#),
        ("image", #"{"x":1}"#, #"{"x":1}"#), ("/a/b", #"{"a":7}"#, #"{"a":7}"#),
        // Later blobs of the list keep their attachments.
        (
            "/p/0", #"{"p":[\#(blob),\#(blob)],"_attachments":{"blob_/p/0":\#(stub),"blob_/p/1":\#(stub)}}"#,
            #"{"p":[null,\#(blob)],"_attachments":{"blob_/p/1":\#(stub)}}"#
        ),
    ])
    func detachRemovesMemberAndAttachment(blob: String, document: String, expected: String) throws {
        let decision = try set("detach: {blob: '\(blob)'}").decide(document)
        #expect(decision.error == nil)
        #expect(decision.document.string == expected)
        #expect(try !set("detach: {blob: '\(blob)'}").decide(expected).isChanged)
    }

    @Test func programCanNameTheBlob() async throws {
        let decision = try await set("attach: {blob: {jq: '\"/\" + .side'}, file: FILE}").decided(#"{"side":"front"}"#)
        #expect(decision.error == nil)
        #expect(decision.document.root["front"]?.bytes.elementsEqual(Self.blob.utf8) == true)
        let wrong = try await set("attach: {blob: {jq: .side}, file: FILE}").decided(#"{"side":"_rev"}"#)
        #expect(wrong.error?.description.contains("blob: '/_rev' can't be a blob") == true)
    }

    @Test func downloadIsRevalidatedOnlyIfMemberAndAttachmentAgree() async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [attach: {blob: image, url: 'https://h/x.png'}]")
        func decide(_ document: String) async throws -> Decision {
            let downloader = Downloader(answer: { request, _, _ in
                request.existing == nil
                    ? .content(AttachmentContent(Array("hello\n".utf8)), contentType: "image/png") : .unchanged
            })
            let input = DecisionInput(try JSONText(document))
            return try #require(
                await rules.makeDecider().decide(on: [input], now: 0, downloader: downloader).first)
        }
        #expect(try await decide("{}").document.root["image"]?.bytes.elementsEqual(Self.blob.utf8) == true)
        for stub in [Self.stub, Self.couchDBStub] {
            let right = #"{"image":\#(Self.blob),"_attachments":{"blob_/image":\#(stub)}}"#
            #expect(try await !decide(right).isChanged)
            // The member is rewritten, the attachment is not.
            let repaired = try await decide(#"{"image":null,"_attachments":{"blob_/image":\#(stub)}}"#)
            #expect(repaired.document.string == right)
            #expect(repaired.attachments.isEmpty)
        }
    }

    @Test(arguments: [
        ("blobs: { image: { length: 6 } }", true), ("blobs: { image: { length: 7 } }", false),
        ("blobs: { /image: {} }", true), ("blobs: {}", true), ("attachments: { blob_/image: {} }", true),
        ("attachments: {}, blobs: { image: {} }", true), ("attachments: {}", false),
    ])
    func ruleFileTestsCanExpectBlobs(expectation: String, passes: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "blobs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("hello\n".utf8).write(to: folder.appending(path: "a.png"))
        let text = """
            version: 1
            rules: [{ name: a, when: {}, then: [{ attach: { blob: image, file: a.png } }] }]
            tests: [{ name: t, given: { _id: x }, expect: { \(expectation) } }]
            """
        let path = folder.appending(path: "r.yaml").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let results = await (try RuleFileSet.load(paths: [path])).runTests(now: 0)
        // `blobs: {}` does not check attachments.
        #expect(results.map { $0.mismatches.isEmpty } == [passes])
    }
}
