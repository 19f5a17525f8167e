package import LosslessJSON

/// One item of a ``DocumentSource``.
package enum SourceItem: Sendable {
    case document(SourceDocument)
    /// A document that can't be read; reading continues after it.
    case error(SourceDocumentError)
}

/// A document of an input, checked to be a JSON object.
package struct SourceDocument: Sendable {
    /// The document byte for byte, scanned.
    package let text: JSONText
    /// Where it begins: for tables, its first cell; for compressed input, the place in the decompressed text.
    package let place: TextPlace
    /// The input that ``text`` was made from: a row without its line break, or Extended JSON. Nil if the input is the
    /// text itself.
    package let original: [UInt8]?

    /// - Parameter text: Its root must be an object.
    package init(text: JSONText, place: TextPlace, original: [UInt8]? = nil) {
        self.text = text
        self.place = place
        self.original = original
    }

    /// From 1, of ``place``.
    package var line: Int { place.line }
    /// From 0, of ``place``.
    package var byteOffset: Int { place.byteOffset }
    /// The JSON of the document, not of the input it was made from.
    package var bytes: [UInt8] { text.bytes }
}
