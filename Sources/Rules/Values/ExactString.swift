/// A string that is compared byte by byte, for names and ids in documents.
///
/// Swift's strings are equal if they are canonically equivalent, such as "é" as one scalar and as two. For a gateway
/// these are two different attachments, members or documents.
package struct ExactString: Sendable {
    /// The string. Comparing it directly would use Swift's equality.
    package let text: String

    /// Copies nothing and does not normalise.
    package init(_ text: String) { self.text = text }
}

extension ExactString: Hashable, Comparable {
    /// Compares byte by byte, unlike `String`.
    package static func == (left: ExactString, right: ExactString) -> Bool { left.text.isSame(as: right.text) }

    /// Compares UTF-8 bytes, which gives the order of Unicode scalars.
    package static func < (left: ExactString, right: ExactString) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the UTF-8 bytes.
    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension ExactString: ExpressibleByStringLiteral, CustomStringConvertible {
    /// A literal is used unchanged.
    package init(stringLiteral text: String) { self.init(text) }

    /// The string itself, without quotes.
    package var description: String { text }
}

extension String {
    /// Whether both have the same bytes.
    func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the string's bytes begin with these. `hasPrefix` compares whole characters: by that measure, "_" with a
    /// combining accent does not begin with "_".
    func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
}
