import Glibc

/// The id of a document in a work log: the bytes of its UTF-8.
///
/// Bytes instead of `String`, because a gateway distinguishes two spellings of "é" and Swift does not, and because
/// PostgreSQL's `text` cannot hold U+0000. Ordered by its bytes.
package struct DocumentKey: Sendable {
    /// The UTF-8 of `_id`, not percent-encoded.
    package let bytes: [UInt8]

    /// Takes any bytes.
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Takes any text, U+0000 included.
    package init(_ text: String) { bytes = Array(text.utf8) }

    /// The id as text. Bytes that are not UTF-8 become U+FFFD.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension DocumentKey: Hashable, Comparable, CustomStringConvertible {
    package static func == (left: Self, right: Self) -> Bool {
        left.bytes.count == right.bytes.count && compare(left, right) == 0
    }

    package static func < (left: Self, right: Self) -> Bool {
        let order = compare(left, right)
        return order == 0 ? left.bytes.count < right.bytes.count : order < 0
    }

    package func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    package var description: String { text }

    /// Compares the common length.
    private static func compare(_ left: Self, _ right: Self) -> Int32 {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard let first = left.baseAddress, let second = right.baseAddress else { return 0 }
                return memcmp(first, second, min(left.count, right.count))
            }
        }
    }
}
