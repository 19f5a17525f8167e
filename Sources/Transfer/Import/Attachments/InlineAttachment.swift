internal import Foundation
internal import GatewayClient

/// The bytes of an attachment that stand in a document as base64, made piece by piece: the text is there already, and
/// should not be in memory again.
struct InlineAttachment: Sendable {
    private static let pieceSize = 128 << 10

    private let document: [UInt8]
    /// Between the quotes.
    private let range: Range<Int>
    private let hasEscapes: Bool
    let byteCount: Int

    /// - Parameters:
    ///   - document: Its text.
    ///   - range: Of the string, with its quotes. It must be base64.
    init(_ document: [UInt8], _ range: Range<Int>) {
        self.document = document
        let content = range.lowerBound + 1..<range.upperBound - 1
        self.range = content
        // A slash may be escaped.
        let escapes = document.withUnsafeBytes { bytes in
            bytes[content].reduce(into: 0) { count, byte in count &+= byte == UInt8(ascii: "\\") ? 1 : 0 }
        }
        hasEscapes = escapes > 0
        let padding = document[content].suffix(2).count { $0 == UInt8(ascii: "=") }
        byteCount = max(0, (content.count - escapes) / 4 * 3 - padding)
    }

    /// Calls `take` with all bytes, one piece after the other.
    func forEachPiece(_ take: ([UInt8]) -> Void) {
        var at = range.lowerBound
        while let piece = piece(from: &at) { take(piece) }
    }

    /// The same bytes, made while they are sent.
    var source: ByteSource {
        let reading = Reading(self)
        return ByteSource(count: byteCount) { await reading.next() }
    }

    /// The bytes from a place in the text on, which is moved behind them; nil at the end.
    private func piece(from at: inout Int) -> [UInt8]? {
        guard at < range.upperBound else { return nil }
        guard hasEscapes else {
            let start = at
            at = min(range.upperBound, at + Self.pieceSize)
            return Self.decoded(document[start..<at])
        }
        var text: [UInt8] = []
        text.reserveCapacity(Self.pieceSize)
        while at < range.upperBound, text.count < Self.pieceSize {
            if document[at] != UInt8(ascii: "\\") { text.append(document[at]) }
            at += 1
        }
        return Self.decoded(text[...])
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Data(base64Encoded: Data(text)).map { Array($0) }
    }

    /// How far the text has been read. One task does.
    private actor Reading {
        private let attachment: InlineAttachment
        private var place: Int

        init(_ attachment: InlineAttachment) {
            self.attachment = attachment
            place = attachment.range.lowerBound
        }

        func next() -> [UInt8]? { attachment.piece(from: &place) }
    }
}
