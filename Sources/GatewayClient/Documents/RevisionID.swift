/// A revision of a document: `3-0ba0558c…`, generation and digest. Opaque except for the generation; equal only if its
/// bytes are.
public struct RevisionID: Sendable, CustomStringConvertible {
    /// As in `_rev`.
    public let text: String

    /// Takes any text, even one without a generation.
    public init(_ text: String) { self.text = text }

    /// How many edits led to it; nil if the text does not begin with a number and "-".
    public var generation: Int? { text.firstIndex(of: "-").flatMap { Int(text[..<$0]) } }

    /// As ``text``.
    public var description: String { text }
}

extension RevisionID: Hashable {
    /// Compares the UTF-8 bytes, not by canonical equivalence.
    public static func == (left: RevisionID, right: RevisionID) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    /// Hashes the UTF-8 bytes, as `==` compares them.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
