package import LosslessJSON

/// What a ``DocumentSource`` finds next.
package enum SourceItem: Sendable {
    case document(SourceDocument)
    /// One document that can't be read; reading goes on behind it.
    case fault(SourceFault)
}

/// A document of an input, checked to be a JSON object.
package struct SourceDocument: Sendable {
    /// The document, byte for byte, together with its tape: nobody needs to scan it again.
    package let text: JSONText
    /// Where it begins. For tables the place of its first cell; in a packed input that of the unpacked text.
    package let place: TextPlace
    /// What stands in the input instead of ``text``: the row of a table without its line break, or Extended JSON. Nil
    /// if the text itself does.
    package let original: [UInt8]?

    package init(text: JSONText, place: TextPlace, original: [UInt8]? = nil) {
        self.text = text
        self.place = place
        self.original = original
    }

    package var line: Int { place.line }
    package var byteOffset: Int { place.byteOffset }
    package var bytes: [UInt8] { text.bytes }
}
