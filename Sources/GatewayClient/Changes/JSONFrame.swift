/// Finds where an object or array ends without looking at what it holds: brackets and strings are all it knows.
///
/// Keeps its place between calls, so that a row that comes in many pieces is looked through once, and finds the end of
/// a row even if there is something in it that is not JSON.
struct JSONFrame {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Offset up to which the text has been looked at.
    private(set) var reached: Int

    /// - Parameter start: Offset of the opening bracket.
    init(start: Int) { reached = start }

    /// - Returns: The offset behind the closing bracket, or nil if it has not come yet.
    mutating func findEnd(in text: Span<UInt8>) -> Int? {
        while reached < text.count {
            let byte = text[reached]
            reached += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return reached }
            default: break
            }
        }
        return nil
    }

    /// The text has lost its first `count` bytes.
    mutating func shift(by count: Int) { reached -= count }
}
