import GatewayClient
import LosslessJSON
import Testing

@testable import Revisions
@testable import Transfer

@Suite struct AttachmentStubTests {
    private static let sha256 = String(repeating: "0", count: 64)

    /// An original stub, and the expected stub for 4,000 bytes.
    @Test(
        arguments: [
            (#"{"length":40,"stub":true}"#, #"{"length":4000,"unpacked":true,"stub":true}"#),
            (#"{"stub":true,"length":40}"#, #"{"stub":true,"length":4000,"unpacked":true}"#),
            (
                #"{"length" : 40 ,"stub":true,"x":{"length":40}}"#,
                #"{"length" : 4000,"unpacked":true ,"stub":true,"x":{"length":40}}"#
            ),
            (#"{"length":4000,"stub":true}"#, nil),
            (#"{"length":4e3,"stub":true}"#, #"{"length":4000,"unpacked":true,"stub":true}"#),
            (#"{"stub":true}"#, nil), (#"{"length":"40","stub":true}"#, nil),
            (#"{"encoded_length":4000,"encoding":"gzip","length":9000,"stub":true}"#, nil),
        ] as [(String, String?)])
    func lengthBecomesThatOfBytes(stub: String, expected: String?) throws {
        let before = #"{"_id":"a","length":7,"_attachments":{"p":"#
        let text = try JSONText(before + stub + "}}")
        let found = try #require(AttachmentStub.all(of: text.root).first)
        let body = AttachmentBody(byteCount: 4_000, sha256: Self.sha256)
        var output: [UInt8] = []
        found.append(0..<found.range.upperBound, of: text.bytes, with: body, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == before + (expected ?? stub))
    }

    @Test func partWithoutLengthIsUnchanged() throws {
        let text = try JSONText(#"{"_attachments":{"p":{"stub":true,"length":40,"x":1}}}"#)
        let stub = try #require(AttachmentStub.all(of: text.root).first)
        let body = AttachmentBody(byteCount: 4_000, sha256: Self.sha256)
        var output: [UInt8] = []
        stub.append(0..<stub.markRange.upperBound, of: text.bytes, with: body, to: &output)
        #expect(output == Array(text.bytes[..<stub.markRange.upperBound]))
        stub.append(stub.markRange.upperBound..<text.bytes.count, of: text.bytes, with: body, to: &output)
        #expect(
            String(decoding: output, as: UTF8.self)
                == #"{"_attachments":{"p":{"stub":true,"length":4000,"unpacked":true,"x":1}}}"#)
    }
}
