/// Text that is equal only if its bytes are: names and ids as documents have them.
///
/// Swift's strings are equal if they look the same, such as "é" as one scalar and as two. For a gateway those are two
/// attachments, two members, two documents.
package struct ExactString: Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }
}

extension ExactString: Hashable, Comparable {
    package static func == (left: ExactString, right: ExactString) -> Bool { left.text.isSame(as: right.text) }

    package static func < (left: ExactString, right: ExactString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension ExactString: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { text }
}

extension String {
    /// Whether the two have the same bytes.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the text's bytes begin so. `hasPrefix` sees whole characters: to it, "_" with an accent behind it does
    /// not begin with "_".
    func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
}
