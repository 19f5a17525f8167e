/// Finds where an object, array or string ends without looking at what it holds: brackets and strings are all it knows.
///
/// Keeps its place between calls, so that a row that comes in many pieces is looked through once, and finds the end of
/// a row even if there is something in it that is not JSON.
struct JSONFrame {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var end: Int?
    /// Offset up to which the text has been looked at.
    private(set) var reached: Int

    /// - Parameter start: Offset of the opening bracket or quote.
    init(start: Int) { reached = start }

    /// Whether a value that begins with this byte has an end that can be found.
    static func canStart(with byte: UInt8) -> Bool {
        byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "\"")
    }

    /// - Returns: The offset behind the closing bracket or quote, the same one for each call; nil if it has not come yet.
    mutating func findEnd(in text: Span<UInt8>) -> Int? {
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

    /// The text has lost its first `count` bytes.
    mutating func shift(by count: Int) {
        reached -= count
        end = end.map { $0 - count }
    }
}
