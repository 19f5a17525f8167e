import GatewayClient
import LosslessJSON
import Testing

@testable import Revisions
@testable import Transfer

@Suite struct ExportDocumentTests {
    private static func attached(_ members: String, _ type: String = "image/png", length: Int = 3) -> String {
        #"{"_attachments":{"i":{"content_type":"\#(type)","length":\#(length),\#(members)}}}"#
    }

    @Test(arguments: [
        (#"{"_id":"a"}"#, []), (#"{"_attachments":{}}"#, []), (#"{"_attachments":7}"#, []),
        (#"{"_attachments":{"a":{"stub":true,"length":3}}}"#, ["a"]),
        (#"{"_attachments":{"a":{"data":""},"b":{"stub":false},"c\u002f":{"x":1,"stub":true}}}"#, ["c/"]),
        (#"{"x":{"_attachments":{"a":{"stub":true}}}}"#, []),
        (#"{"_attachments":{"a":{"stub":true}},"_attachments":{"b":{"stub":true}}}"#, ["b"]),
    ])
    func stubsAreFound(document: String, names: [String]) throws {
        let text = try JSONText(document)
        let stubs = AttachmentStub.all(of: text.root)
        #expect(stubs.map(\.name) == names)
        for stub in stubs {
            #expect(String(decoding: text.bytes[stub.markRange], as: UTF8.self) == #""stub":true"#)
            #expect(text.bytes[stub.range.upperBound - 1] == UInt8(ascii: "}"))
        }
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":[1,{"c":null}]}"#, #"{"b":[1,{"c":null}],"a":1}"#, nil),
            (#"{"a":"é"}"#, #"{"a":"\u00e9"}"#, nil),
            (#"{"a":1.10}"#, #"{"a":1.1}"#, "/a"), (#"{"a":1}"#, #"{"a":1.0}"#, "/a"),
            (#"{"a":12345678901234567890123}"#, #"{"a":12345678901234567890124}"#, "/a"),
            (#"{"a":[1,2]}"#, #"{"a":[1]}"#, "/a/1"), (#"{"a":[1]}"#, #"{"a":[1,2]}"#, "/a"),
            (#"{"a":1}"#, #"{"a":1,"b~/":2}"#, "/b~0~1"), (#"{"a":1,"b":2}"#, #"{"a":1}"#, "/b"),
            (#"{"a":true}"#, #"{"a":"true"}"#, "/a"),
            (#"{"_rev":"1-a","_cv":"x","a":1}"#, #"{"_rev":"2-b","a":1}"#, nil),
            (#"{"a":{"_rev":"1-a"}}"#, #"{"a":{"_rev":"2-b"}}"#, "/a/_rev"),
            (
                #"{"_attachments":{"i":{"file":"f","length":3,"revpos":1}}}"#,
                #"{"_attachments":{"i":{"stub":true,"length":3,"revpos":7,"digest":"d"}}}"#, nil
            ),
            (
                #"{"_attachments":{"i":{"stub":true,"length":3}}}"#,
                #"{"_attachments":{"i":{"stub":true,"length":4}}}"#,
                "/_attachments/i/length"
            ),
            (#"{"a":1,"a":2}"#, #"{"a":2}"#, nil),
            (attached(#""digest":"sha1-A""#), attached(#""digest":"sha1-B""#), "/_attachments/i/digest"),
            (attached(#""digest":"md5-A""#), attached(#""digest":"sha1-B""#), nil),
            // CouchDB may have compressed it differently: its settings determine for which types.
            (attached(#""digest":"md5-A""#), attached(#""digest":"md5-B""#), nil),
            (attached(#""digest":"md5-A""#, "text/plain"), attached(#""digest":"md5-B""#, "text/plain"), nil),
            // Uploaded as gzip: the same digest, with the length of the compressed bytes. Other gateways have another
            // digest.
            (attached(#""digest":"md5-A","unpacked":true"#), attached(#""digest":"md5-A""#, length: 2), nil),
            (attached(#""digest":"md5-A","unpacked":true"#), attached(#""digest":"md5-B""#), nil),
            (
                attached(#""digest":"md5-A","unpacked":true"#), attached(#""digest":"md5-B""#, length: 2),
                "/_attachments/i/length"
            ),
        ] as [(String, String, String?)])
    func documentsAreComparedByContent(left: String, right: String, path: String?) throws {
        let difference = DocumentComparison().difference(try JSONText(left).root, try JSONText(right).root)
        #expect(difference?.description == path)
    }

    /// Half of a surrogate pair differs from U+FFFD, the replacement character.
    @Test(arguments: [(#""\ud800""#, #""\ufffd""#), (#""a\udc00""#, #""a\ud800""#)])
    func loneSurrogatesAreDistinguished(left: String, right: String) throws {
        let texts = try [left, right].map { try JSONText(#"{"a":\#($0)}"#).root }
        #expect(DocumentComparison().difference(texts[0], texts[1])?.description == "/a")
        #expect(DocumentComparison().difference(texts[0], texts[0]) == nil)
    }

    @Test func numbersCanBeComparedByValueAndRevisionsIncluded() throws {
        var comparison = DocumentComparison()
        comparison.comparesNumbersByValue = true
        let left = try JSONText(#"{"a":1.10,"_rev":"1-a"}"#).root
        #expect(comparison.difference(left, try JSONText(#"{"a":1.1,"_rev":"2-b"}"#).root) == nil)
        #expect(comparison.difference(left, try JSONText(#"{"a":1.2,"_rev":"1-a"}"#).root)?.description == "/a")
        comparison.comparesRevisions = true
        #expect(comparison.difference(left, try JSONText(#"{"a":1.1,"_rev":"2-b"}"#).root)?.description == "/_rev")
    }

    @Test func deepDocumentsAreComparedWithoutRecursion() throws {
        let depth = 1_000
        let deep = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
        let other = String(repeating: "[", count: depth) + "2" + String(repeating: "]", count: depth)
        #expect(DocumentComparison().difference(try JSONText(deep).root, try JSONText(deep).root) == nil)
        #expect(DocumentComparison().difference(try JSONText(deep).root, try JSONText(other).root) != nil)
    }

    @Test func onlyRepeatedDocumentsNeedExactChecks() {
        var seen = SeenDocuments()
        for number in 0..<1_000 { seen.note(DocumentID("t\(number)")) }
        seen.note("t7")
        #expect(seen.mayBeRepeated("t7"))
        #expect(!seen.mayBeRepeated("t8"))
        #expect(seen.contains("t8"))
        #expect(!seen.contains("t1000"))
        // These are two documents, although they look the same.
        seen.note("\u{E9}")
        seen.note("e\u{301}")
        #expect(!seen.mayBeRepeated("\u{E9}"))
    }
}
