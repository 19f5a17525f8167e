/// An opaque name on a gateway. Two names are equal only if their UTF-8 bytes are.
///
/// Swift's strings are equal if they are canonically equivalent, such as "é" as one scalar and as two. A gateway
/// distinguishes them.
public protocol ByteText: Hashable, Sendable, CustomStringConvertible {
    /// As the gateway spells it.
    var text: String { get }
}

extension ByteText {
    /// Compares the UTF-8 bytes, not by canonical equivalence.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        var (left, right) = (left.text, right.text)
        // Twice as fast as comparing them through the views.
        return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
    }

    /// Hashes the UTF-8 bytes, as `==` compares them.
    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Same as ``text``.
    public var description: String { text }
}
