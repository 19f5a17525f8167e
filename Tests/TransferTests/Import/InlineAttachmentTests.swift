import Foundation
import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

/// Inline attachments are decoded piece by piece.
@Suite struct InlineAttachmentTests {
    /// Lengths around a piece (98,304 bytes of content), with all remainders.
    private static let sizes = [0, 1, 2, 3, 4, 98_303, 98_304, 98_305, 98_306, 300_001]

    /// How a writer spells base64 in a JSON string.
    enum Spelling: CaseIterable {
        case plain, escapedSlashes, escapedPadding, mimeLines, unixLines, spaces, allEscaped

        func spell(_ base64: String) -> String {
            switch self {
            case .plain: base64
            case .escapedSlashes: base64.replacingOccurrences(of: "/", with: "\\/")
            case .escapedPadding: base64.replacingOccurrences(of: "=", with: "\\u003d")
            case .mimeLines: Self.lines(base64, "\\r\\n")
            case .unixLines: Self.lines(base64, "\\n") + "\\n"
            case .spaces: " " + Self.lines(base64, " \\t ")
            case .allEscaped: base64.utf8.map { "\\u00" + String($0, radix: 16) }.joined()
            }
        }

        private static func lines(_ text: String, _ separator: String) -> String {
            let bytes = Array(text.utf8)
            return stride(from: 0, to: bytes.count, by: 76)
                .map { String(decoding: bytes[$0..<min($0 + 76, bytes.count)], as: UTF8.self) }
                .joined(separator: separator)
        }
    }

    private static func attachment(_ content: [UInt8], _ spelling: Spelling) throws -> InlineAttachment {
        let text = try JSONText(#"{"data":"\#(spelling.spell(Data(content).base64EncodedString()))"}"#)
        return InlineAttachment(text.bytes, try InlineBase64(#require(text.root["data"])))
    }

    /// Created once, because it is slow in debug builds.
    private static let longest = (0..<(sizes.max() ?? 0)).map { UInt8(truncatingIfNeeded: ($0 &* 7919) >> 3) }

    @Test(arguments: sizes, Spelling.allCases)
    func piecesAddUpToContent(size: Int, spelling: Spelling) async throws {
        let content = Array(Self.longest.prefix(size))
        let attachment = try Self.attachment(content, spelling)
        #expect(attachment.byteCount == size)
        var found: [UInt8] = []
        attachment.forEachPiece { piece in
            #expect(piece.count <= 98_304)
            found += piece
        }
        #expect(found == content)
        #expect(attachment.source.count == size)
    }

    /// Gateways get digits and padding on one line, regardless of the document's spelling.
    @Test(arguments: Spelling.allCases) func textIsOneLine(spelling: Spelling) throws {
        let content = Array("A picture of an apple?>".utf8) + [0xFF, 0xFE, 0xFB] + Array(repeating: 0x3F, count: 80)
        let base64 = Data(content).base64EncodedString()
        let text = try JSONText(#"{"data":"\#(spelling.spell(base64))"}"#)
        let found = try InlineBase64(#require(text.root["data"]))
        #expect(String(decoding: found.text(in: text.bytes), as: UTF8.self) == base64)
        #expect(found.bytes(in: text.bytes) == content)
    }

    @Test(arguments: [
        (#""QQ""#, InlineBase64Error.incomplete), (#""QQ=""#, .incomplete), (#""QUI""#, .incomplete),
        (#""Q""#, .incomplete),
        (#""Q\u0051""#, .incomplete), (#""QQ\n""#, .incomplete), (#""QQ\u003d""#, .incomplete),
        (#""-_8=""#, .otherAlphabet), (#""+/8\n-""#, .otherAlphabet), (#""QUI_""#, .otherAlphabet),
        (#""=QQ=""#, .notBase64), (#""QQ==QQ==""#, .notBase64), (#""QQ==QUJD""#, .notBase64), (#""====""#, .notBase64),
        (#""Q===""#, .notBase64), (#""QQ\u0000==""#, .notBase64), (#""QUJ\u00e9""#, .notBase64),
        (#""QU\\D""#, .notBase64), (#""QU\"D""#, .notBase64), (#""QUJ\ud800""#, .notBase64),
        ("\"QUJ\u{E9}\"", .notBase64),
        ("1", .notAString), ("null", .notAString), ("[]", .notAString),
    ])
    func base64ThatGatewaysRefuseIsInvalid(data: String, error: InlineBase64Error) throws {
        let value = try JSONText(data).root
        #expect(throws: error) { try InlineBase64(value) }
    }
}
