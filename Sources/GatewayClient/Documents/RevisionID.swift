/// A revision of a document: `3-0ba0558c…`, generation and digest. Opaque except for the generation; equal only if its
/// bytes are.
public struct RevisionID: ByteText {
    /// As in `_rev`.
    public let text: String

    /// Takes any text, even one without a generation.
    public init(_ text: String) { self.text = text }

    /// The number of edits up to this revision; nil if the text does not begin with a number and "-".
    public var generation: Int? { text.firstIndex(of: "-").flatMap { Int(text[..<$0]) } }
}
