import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Blobs of Couchbase Lite in documents.
@Suite struct DocumentBlobsTests {
    private static let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="
    private static let blob = #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":6}"#

    /// A document pushed by Couchbase Lite, as Sync Gateway 4.1.1 returns it.
    private static let recorded =
        #"{"_attachments":{"blob_/image":{"content_type":"image/png","#
        + #""digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6,"revpos":1,"stub":true},"blob_/photos/0":{"#
        + #""content_type":"image/png","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6,"revpos":1,"#
        + #""stub":true}},"_cv":"18ec28528c550000@qWxhNKZPn16XoNwvYuRTVg","_id":"t","#
        + #""_rev":"1-8ea4335d5aae4447a99b0d227ed8d075","image":{"@type":"blob","content_type":"image/png","#
        + #""digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6},"photos":[{"@type":"blob","#
        + #""content_type":"image/png","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6}],"#
        + #""task":"Apple","type":"task"}"#

    private static func stub(
        digest: String = sha1, length: Int = 6, type: String = "image/png", encoding: String = ""
    ) -> String {
        #"{"content_type":"\#(type)","digest":"\#(digest)","length":\#(length),"stub":true\#(encoding)}"#
    }

    private func problems(_ document: String, sha1: String? = nil) throws -> [String] {
        DocumentBlobs(try JSONText(document).root).problems { _ in sha1 }.map { "\($0.pointer): \($0.reason)" }
    }

    @Test(arguments: [
        "{}", "[]", #"{"image":{"@type":"date"}}"#, #"{"@type":"blob"}"#, #"{"_attachments":{"x":{"@type":"blob"}}}"#,
        #"{"image":BLOB,"_attachments":{"blob_/image":STUB}}"#,
        #"{"a":[{"b":BLOB}],"_attachments":{"blob_/a/0/b":STUB}}"#,
        #"{"a/b~":BLOB,"_attachments":{"blob_/a~1b~0":STUB}}"#,
        // A moved element, and a digest from CouchDB.
        #"{"a":[BLOB],"_attachments":{"blob_/a/1":STUB}}"#,
        #"{"image":BLOB,"_attachments":{"blob_/image":MD5}}"#,
        recorded,
    ])
    func blobsWithTheirAttachmentsAreValid(document: String) throws {
        let text = document.replacing("BLOB", with: Self.blob).replacing("STUB", with: Self.stub())
            .replacing("MD5", with: Self.stub(digest: "md5-AAAAAAAAAAAAAAAAAAAAAA=="))
        #expect(try problems(text, sha1: Self.sha1) == [])
    }

    @Test(arguments: [
        (#"{"image":BLOB}"#, "/image: the blob has no attachment 'blob_/image'"),
        (#"{"a":{"b":[0,BLOB]},"_attachments":{}}"#, "/a/b/1: the blob has no attachment 'blob_/a/b/1'"),
        (
            #"{"im\u0061ge":{"\u0040type":"blob","digest":"sha1-x"}}"#,
            "/image: the blob has no attachment 'blob_/image'"
        ),
        (#"{"image":{"@type":"blob","length":6}}"#, "/image: the blob has no SHA-1 digest"),
        (
            #"{"image":BLOB,"_attachments":{"blob_/image":\#(stub(digest: "sha1-AAAA"))}}"#,
            "/image: digest differs between the blob and its attachment 'blob_/image'"
        ),
        (
            #"{"image":BLOB,"_attachments":{"blob_/image":\#(stub(length: 7))}}"#,
            "/image: length differs between the blob and its attachment 'blob_/image'"
        ),
        (
            #"{"image":BLOB,"_attachments":{"blob_/image":\#(stub(type: "image/gif"))}}"#,
            "/image: content_type differs between the blob and its attachment 'blob_/image'"
        ),
        (
            #"{"image":BLOB,"_attachments":{"blob_/image":\#(stub(digest: "md5-AAAA"))}}"#,
            "/image: the digest of the blob is \(sha1), but that of its attachment's bytes is sha1-B"
        ),
    ])
    func blobThatAppsCannotShowIsAProblem(document: String, problem: String) throws {
        #expect(try problems(document.replacing("BLOB", with: Self.blob), sha1: "sha1-B") == [problem])
    }

    @Test func deeplyNestedDocumentsAreSearchedSafely() throws {
        let depth = 5_000
        let deep = String(repeating: #"{"a":"#, count: depth) + Self.blob + String(repeating: "}", count: depth)
        #expect(try problems(deep) == [])
    }

    /// Regression: a quadratic search took half an hour.
    @Test(.limitedParallelism) func manyBlobsTakeLinearTime() throws {
        let numbers = 0..<60_000
        let members = numbers.map { #""b\#($0)":\#(Self.blob)"# }.joined(separator: ",")
        let stubs = numbers.map { #""blob_/b\#($0)":\#(Self.stub())"# }.joined(separator: ",")
        var compared = 0
        let document = try JSONText("{\(members),\"_attachments\":{\(stubs)}}")
        let problems = DocumentBlobs(document.root).problems { _ in
            compared += 1
            return Self.sha1
        }
        #expect(problems.isEmpty && compared == numbers.count)
    }

    /// Regression: blobs below a long name, or without attachments, also took half an hour.
    @Test(.limitedParallelism) func furtherProblemsAreCounted() throws {
        let blobs = Array(repeating: #"{"@type":"blob","digest":"sha1-x"}"#, count: 100_000).joined(separator: ",")
        let stubs = (0..<50_000).map { #""s\#($0)":\#(Self.stub())"# }.joined(separator: ",")
        let name = String(repeating: "n", count: 100_000)
        let found = try problems("{\"\(name)\":[\(blobs)],\"_attachments\":{\(stubs)}}")
        #expect(found.count == DocumentBlobs.problemLimit + 1)
        #expect(found.first == "/\(name)/0: the blob has no attachment 'blob_/\(name)/0'")
        #expect(found.last == ": this document has 99900 further faulty blobs")
    }

    @Test(arguments: [
        // Canonically equivalent names are distinct, and the slash may be part of a longer character.
        (#"{"é":BLOB,"_attachments":{"blob_/e\u0301":WRONG}}"#, 0),
        (#"{"é":BLOB,"_attachments":{"blob_/é":WRONG}}"#, 1),
        (#"{"\u0301":BLOB,"_attachments":{"blob_/\u0301":WRONG}}"#, 1), (#"{"a":BLOB,"a":BLOB}"#, 2),
        // Of two attachments with the same name, gateways keep the last.
        (#"{"a":BLOB,"_attachments":{"blob_/a":WRONG,"blob_/a":STUB}}"#, 0),
        (#"{"a":BLOB,"_attachments":{"blob_/a":STUB,"blob_/a":WRONG}}"#, 1),
    ])
    func namesAreComparedByteByByte(document: String, count: Int) throws {
        let text = document.replacing("BLOB", with: Self.blob).replacing("STUB", with: Self.stub())
            .replacing("WRONG", with: Self.stub(type: "image/gif"))
        #expect(try problems(text).count == count)
    }
}
