internal import LosslessJSON

/// A part of a string and the lone surrogate that follows it, which JSON can escape but UTF-8 can't hold.
struct StringPart {
    /// UTF-8, escapes resolved.
    let text: [UInt8]
    /// `\uXXXX` with lowercase digits; empty at the string's end.
    let loneSurrogate: [UInt8]
}

extension JSONValue {
    /// The parts of a string; nil if this is not a string.
    var stringParts: [StringPart]? {
        guard let utf8 else { return nil }
        let halves = isEscaped ? loneSurrogates : []
        guard !halves.isEmpty else { return [StringPart(text: utf8, loneSurrogate: [])] }
        let content = rawContent
        var parts: [StringPart] = []
        var start = content.startIndex
        for half in halves {
            let hex = content[half..<half + 6].map { (0x41...0x46).contains($0) ? $0 | 0x20 : $0 }
            parts.append(StringPart(text: Self.unescaped(content[start..<half]), loneSurrogate: hex))
            start = half + 6
        }
        return parts + [StringPart(text: Self.unescaped(content[start...]), loneSurrogate: [])]
    }

    private static func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
        let quote = [UInt8(ascii: "\"")]
        return (try? JSONText(quote + content + quote))?.root.utf8 ?? []
    }

    /// The offsets of escapes that are lone surrogates.
    private var loneSurrogates: [Int] {
        let content = rawContent
        var found: [Int] = []
        var at = content.startIndex
        while let backslash = content[at...].firstIndex(of: UInt8(ascii: "\\")) {
            switch UnicodeEscape(content, at: backslash) {
            case .scalar(_, let end)?: at = end
            case .loneSurrogate(_, let end)?:
                found.append(backslash)
                at = end
            case nil: at = backslash + 2
            }
        }
        return found
    }
}
