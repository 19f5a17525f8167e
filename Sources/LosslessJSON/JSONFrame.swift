/// Finds the end of an object, array or string by its brackets and quotes, without checking the content.
///
/// Keeps its position between calls, so that a row in many pieces is scanned once. Also finds the end of a row that
/// contains invalid JSON.
package struct JSONFrame {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var end: Int?
    private let endsAtBrokenString: Bool
    /// The offset up to which the text has been scanned.
    package private(set) var reached: Int

    /// - Parameters:
    ///   - start: Offset of the opening bracket or quote.
    ///   - endsAtBrokenString: Whether a line break inside a string counts as the value's end. Such a value can't be
    ///     valid.
    package init(start: Int, endsAtBrokenString: Bool = false) {
        reached = start
        self.endsAtBrokenString = endsAtBrokenString
    }

    /// Whether a value that begins with this byte has an end that can be found.
    package static func canStart(with byte: UInt8) -> Bool {
        byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "\"")
    }

    /// - Returns: The offset after the closing bracket or quote, the same on every call. Nil if it has not arrived yet.
    package mutating func findEnd(in text: Span<UInt8>) -> Int? {
        while end == nil, reached < text.count {
            let byte = text[reached]
            reached += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                    if depth == 0 { end = reached }
                } else if endsAtBrokenString, byte == UInt8(ascii: "\n") {
                    end = reached
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { end = reached }
            default: break
            }
        }
        return end
    }

    /// Adjusts the offsets to a text whose first `count` bytes were removed.
    package mutating func shift(by count: Int) {
        reached -= count
        end = end.map { $0 - count }
    }
}
