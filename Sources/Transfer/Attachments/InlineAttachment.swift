internal import GatewayClient

/// An attachment in base64 within a document. It is decoded in pieces so that memory does not hold it twice.
struct InlineAttachment: Sendable {
    /// In base64 characters.
    private static let pieceSize = 128 << 10

    private let document: [UInt8]
    private let base64: InlineBase64

    /// - Parameter document: The text that contains `base64`.
    init(_ document: [UInt8], _ base64: InlineBase64) {
        self.document = document
        self.base64 = base64
    }

    var byteCount: Int { base64.byteCount }

    /// Calls `take` with all bytes, piece by piece.
    func forEachPiece(_ take: ([UInt8]) -> Void) {
        var at = base64.content.lowerBound
        while let piece = piece(from: &at) { take(piece) }
    }

    /// The same bytes, decoded while they are sent.
    var source: ByteSource {
        let reading = Reading(self)
        return ByteSource(count: byteCount) { await reading.next() }
    }

    /// The next bytes from `at`, which is moved past them; nil at the end. A piece consists of whole groups of four
    /// characters, whatever escapes and white space are between them.
    private func piece(from at: inout Int) -> [UInt8]? {
        let end = base64.content.upperBound
        guard at < end else { return nil }
        if base64.isPlain {
            let start = at
            at = min(end, at + Self.pieceSize)
            return InlineBase64.bytes(of: document.span.extracting(start..<at))
        }
        var digits = Base64Digits(document, at..<end)
        var text: [UInt8] = []
        text.reserveCapacity(Self.pieceSize)
        while text.count < Self.pieceSize, let digit = digits.next() { text.append(digit) }
        at = digits.place
        return text.isEmpty ? nil : InlineBase64.bytes(of: text.span)
    }

    /// The current position in the text. For a single task.
    private actor Reading {
        private let attachment: InlineAttachment
        private var place: Int

        init(_ attachment: InlineAttachment) {
            self.attachment = attachment
            place = attachment.base64.content.lowerBound
        }

        func next() -> [UInt8]? { attachment.piece(from: &place) }
    }
}
