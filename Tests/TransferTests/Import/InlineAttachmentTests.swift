import Foundation
import GatewayClient
import Testing

@testable import Transfer

/// Attachments come out of their documents piece by piece.
@Suite struct InlineAttachmentTests {
    /// Around a piece, which is 98,304 bytes of content, and with all remainders.
    private static let sizes = [0, 1, 2, 3, 4, 98_303, 98_304, 98_305, 98_306, 300_001]

    private static func document(_ content: [UInt8], escapingSlashes: Bool) -> (text: [UInt8], range: Range<Int>) {
        var base64 = Data(content).base64EncodedString()
        if escapingSlashes { base64 = base64.replacingOccurrences(of: "/", with: "\\/") }
        let (before, after) = (Array(#"{"data":"#.utf8), Array("}".utf8))
        let string = Array("\"\(base64)\"".utf8)
        return (before + string + after, before.count..<before.count + string.count)
    }

    @Test(arguments: sizes, [false, true])
    func thePiecesAreTheContent(size: Int, escapingSlashes: Bool) async throws {
        let content = (0..<size).map { UInt8(truncatingIfNeeded: ($0 &* 7919) >> 3) }
        let (text, range) = Self.document(content, escapingSlashes: escapingSlashes)
        let attachment = InlineAttachment(text, range)
        #expect(attachment.byteCount == size)
        var found: [UInt8] = []
        attachment.forEachPiece { piece in
            #expect(piece.count <= 98_304)
            found += piece
        }
        #expect(found == content)
        #expect(attachment.source.count == size)
    }
}
