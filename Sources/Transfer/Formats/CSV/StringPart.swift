internal import LosslessJSON

/// A stretch of a string, and what follows it: JSON's escapes can spell one half of a surrogate pair, which no text in
/// UTF-8 can hold.
struct StringPart {
    /// UTF-8, escapes resolved.
    let text: [UInt8]
    /// `\uXXXX` in lower case; empty at the string's end.
    let half: [UInt8]
}

extension JSONValue {
    /// The parts of a string; nil if this is none.
    var stringParts: [StringPart]? {
        guard let utf8 else { return nil }
        let halves = isEscaped ? halfSurrogates : []
        guard !halves.isEmpty else { return [StringPart(text: utf8, half: [])] }
        let content = rawContent
        var parts: [StringPart] = []
        var start = content.startIndex
        for half in halves {
            let hex = content[half..<half + 6].map { (0x41...0x46).contains($0) ? $0 | 0x20 : $0 }
            parts.append(StringPart(text: Self.unescaped(content[start..<half]), half: hex))
            start = half + 6
        }
        return parts + [StringPart(text: Self.unescaped(content[start...]), half: [])]
    }

    private static func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
        let quote = [UInt8(ascii: "\"")]
        return (try? JSONText(quote + content + quote))?.root.utf8 ?? []
    }

    /// Where the escapes of halves without their other half stand in the text.
    private var halfSurrogates: [Int] {
        let content = rawContent
        var found: [Int] = []
        var at = content.startIndex
        while let backslash = content[at...].firstIndex(of: UInt8(ascii: "\\")) {
            guard let unit = Self.codeUnit(content, at: backslash) else {
                at = backslash + 2
                continue
            }
            at = backslash + 6
            guard (0xD800...0xDFFF).contains(unit) else { continue }
            if unit < 0xDC00, let low = Self.codeUnit(content, at: at), (0xDC00...0xDFFF).contains(low) {
                at += 6
            } else {
                found.append(backslash)
            }
        }
        return found
    }

    /// The value of `\uXXXX`; nil for everything else.
    private static func codeUnit(_ content: ArraySlice<UInt8>, at start: Int) -> UInt16? {
        guard start + 6 <= content.endIndex, content[start] == UInt8(ascii: "\\"),
            content[start + 1] == UInt8(ascii: "u")
        else { return nil }
        return UInt16(String(decoding: content[start + 2..<start + 6], as: UTF8.self), radix: 16)
    }
}
