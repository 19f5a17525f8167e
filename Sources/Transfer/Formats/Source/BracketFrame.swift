/// Follows the brackets and strings of a value that comes in pieces, to tell when scanning it again is worth while.
struct BracketFrame {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var reached = 0

    /// Looks at what has come since the last call.
    ///
    /// - Parameter text: From the beginning of the value.
    /// - Returns: Whether a bracket or quote has come that ends the value, or a line break within a string: then it
    ///   never ends.
    mutating func hasEnd(in text: Span<UInt8>) -> Bool {
        while reached < text.count {
            let byte = text[unchecked: reached]
            reached += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                } else if byte == UInt8(ascii: "\n") {
                    return true
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return true }
            default: break
            }
        }
        return false
    }
}
