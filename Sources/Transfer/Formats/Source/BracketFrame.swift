/// Tracks brackets and strings of a value that arrives in pieces, to tell when scanning it again makes sense.
struct BracketFrame {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var reached = 0

    /// Reads the text that was added since the last call.
    ///
    /// - Parameter text: All text from the beginning of the value.
    /// - Returns: True if the value's last bracket has arrived, or a line break inside a string, after which it can't
    ///   be valid.
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
