/// The id of a document. Equal only if its bytes are.
///
/// Swift's strings are equal if they look the same: "é" as one scalar and as two. For a gateway those are two
/// documents.
public struct DocumentID: Sendable {
    /// As in `_id`, not percent-encoded.
    public let text: String

    /// Takes any text: only the gateway knows which ids it accepts.
    public init(_ text: String) { self.text = text }
}

extension DocumentID: Hashable {
    /// Compares the UTF-8 bytes, not by canonical equivalence.
    public static func == (left: DocumentID, right: DocumentID) -> Bool {
        left.text.hasBytes(of: right.text)
    }

    /// Hashes the UTF-8 bytes, as `==` compares them.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension String {
    /// Whether both are the same bytes of UTF-8. Twice as fast as comparing them one by one.
    func hasBytes(of other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var (left, right) = (self, other)
        return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
    }
}

extension DocumentID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// As ``init(_:)``, for ids in source code.
    public init(stringLiteral text: String) { self.init(text) }

    /// As ``text``.
    public var description: String { text }
}
