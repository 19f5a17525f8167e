/// A revision of a document: `3-0ba0558c…`, generation and digest. Opaque but for the generation.
public struct RevisionID: Hashable, Sendable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    /// How many edits led here; nil if the text has no such form.
    public var generation: Int? { text.firstIndex(of: "-").flatMap { Int(text[..<$0]) } }

    public var description: String { text }
}
