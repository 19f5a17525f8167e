/// A revision of a document: `3-0ba0558c…`, generation and digest. Opaque but for the generation; equal only if its bytes
/// are.
public struct RevisionID: Sendable, CustomStringConvertible {
    public let text: String

    public init(_ text: String) { self.text = text }

    /// How many edits led here; nil if the text has no such form.
    public var generation: Int? { text.firstIndex(of: "-").flatMap { Int(text[..<$0]) } }

    public var description: String { text }
}

extension RevisionID: Hashable {
    public static func == (left: RevisionID, right: RevisionID) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
