import LosslessJSON
import Testing

@testable import Rules

@Suite struct AttachmentTests {
    private let note = Attachment(AttachmentContent(Array("hello\n".utf8)), contentType: "text/plain")

    /// The digests that `sha1sum`, `md5sum` and `sha256sum` print.
    @Test func digestsMatchCommandLineTools() {
        #expect(note.content.sha1 == "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=")
        #expect(note.content.md5 == "md5-sZRqySSS0jR8YjW00mERhA==")
        #expect(note.content.sha256 == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        #expect(String(decoding: note.content.base64, as: UTF8.self) == "aGVsbG8K")
        #expect(note.content.length == 6)
        #expect(AttachmentContent([]).base64 == [])
    }

    @Test(arguments: [
        (#"{"content_type":"text/plain","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","stub":true}"#, true),
        (#"{"stub":true,"revpos":2,"digest":"md5-sZRqySSS0jR8YjW00mERhA==","content_type":"text/plain"}"#, true),
        (#"{"content_type":"text\/plain","digest":"md5-sZRqySSS0jR8YjW00mERhA=="}"#, true),
        (#"{"content_type":"text/html","digest":"md5-sZRqySSS0jR8YjW00mERhA=="}"#, false),
        (#"{"content_type":"text/plain","digest":"md5-XUFAKrxLKna5cZ2REBfFkg=="}"#, false),
        (#"{"content_type":"text/plain","digest":"sha1-sZRqySSS0jR8YjW00mERhA=="}"#, false),
        (#"{"content_type":"text/plain"}"#, false),
        ("null", false),
    ])
    func stubIsComparedByTheKindOfItsDigest(stub: String, isSame: Bool) throws {
        #expect(note.isContent(of: try JSONText(stub).root) == isSame)
    }

    /// Digests from CouchDB 3.5, which hashes the compressed text.
    @Test(arguments: [
        (#""digest":"md5-iZnIgHaZ3ETVHDtRSQc4IA==","length":23"#, Optional(true)),
        // Another compression level.
        (#""digest":"md5-i0ZWeJWju+eePIfcgK35Mg==","length":23"#, true),
        (#""digest":"md5-iZnIgHaZ3ETVHDtRSQc4IA==","length":24"#, false),
        // A configured compression level: only a comparison of the bytes can decide.
        (#""digest":"md5-jZnIgHaZ3ETVHDtRSQc4IA==","length":23"#, nil),
        (#""digest":"sha1-iZnIgHaZ3ETVHDtRSQc4IA==","length":23"#, false),
    ])
    func compressedTextOnCouchDBIsRecognized(members: String, isSame: Bool?) throws {
        let content = AttachmentContent(Array("hello hello hello hello".utf8))
        let stub = try JSONText(#"{"content_type":"text/plain","revpos":1,\#(members),"stub":true}"#)
        #expect(Attachment(content, contentType: "text/plain").isContent(of: stub.root) == isSame)
    }

    @Test(arguments: [
        ("a.png", "image/png"), ("b/a.JPG", "image/jpeg"), ("a.jpeg", "image/jpeg"), ("a.gif", "image/gif"),
        ("a.webp", "image/webp"), ("a.svg", "image/svg+xml"), ("a.pdf", "application/pdf"), ("a.txt", "text/plain"),
        ("a.json", "application/json"), ("a.tar.gz", "application/octet-stream"), ("a", "application/octet-stream"),
        ("b.png/a", "application/octet-stream"), ("", "application/octet-stream"),
    ])
    func extensionDeterminesContentType(file: String, type: String) {
        #expect(ContentType.ofFile(named: file) == type)
    }

    @Test(arguments: [
        ("text/plain", true), ("text/plain; charset=utf-8", true), ("png", false), ("/png", false), ("image/", false),
        ("a b/c", false), ("a/b\n", false), ("ä/b", false),
    ])
    func contentTypesAreValidated(text: String, isValid: Bool) {
        #expect(ContentType.isValid(text) == isValid)
    }
}
