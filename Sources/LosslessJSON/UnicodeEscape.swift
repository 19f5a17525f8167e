/// A character of a JSON string that is written as `\uXXXX`, or as two such escapes.
///
/// - Note: Source: RFC 8259, sections 7 and 8.2.
package enum UnicodeEscape {
    /// - Parameter end: The index after the escape, or after the pair.
    case scalar(Unicode.Scalar, end: Int)
    /// Half of a surrogate pair without the other half, which valid Unicode text can't contain.
    case loneSurrogate(UInt16, end: Int)

    /// Nil if there is no such escape at `start`.
    ///
    /// - Parameter content: The raw content of a string in checked JSON.
    package init?(_ content: ArraySlice<UInt8>, at start: Int) {
        guard let unit = Self.codeUnit(content, at: start) else { return nil }
        let end = start + 6
        if let scalar = Unicode.Scalar(unit) {
            self = .scalar(scalar, end: end)
        } else if unit < 0xDC00, let low = Self.codeUnit(content, at: end), (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
        {
            self = .scalar(scalar, end: end + 6)
        } else {
            self = .loneSurrogate(unit, end: end)
        }
    }

    private static func codeUnit(_ content: ArraySlice<UInt8>, at start: Int) -> UInt16? {
        guard start + 6 <= content.endIndex, content[start] == UInt8(ascii: "\\"),
            content[start + 1] == UInt8(ascii: "u")
        else { return nil }
        return content[start + 2..<start + 6].reduce(0) { $0 << 4 | UInt16($1.hexDigitValue ?? 0) }
    }
}
