internal import LosslessJSON

/// Text of any origin, as people may see it: on one line, of limited length, and without characters that move the
/// cursor or hide.
enum DisplayText {
    /// Characters of a value that are shown.
    static let limit = 60

    /// A JSON value in its own text, cut behind `limit` characters. What was cut is closed all the same.
    static func json(_ value: JSONValue, limit: Int = DisplayText.limit) -> String {
        let (text, isCut) = line(value.bytes, isJSON: true, limit: limit)
        guard isCut else { return text }
        return switch value.kind {
        case .string: text + "…\""
        case .array: text + "…]"
        case .object: text + "…}"
        case .null, .false, .true, .number: text + "…"
        }
    }

    /// Characters of a name, cut behind `limit`.
    static func plain(_ text: String, limit: Int = DisplayText.limit) -> String {
        let (text, isCut) = line(text.utf8, isJSON: false, limit: limit)
        return isCut ? text + "…" : text
    }

    private static func line(
        _ bytes: some Collection<UInt8>, isJSON: Bool, limit: Int
    ) -> (text: String, isCut: Bool) {
        // A character has four bytes at most: what lies behind need not be decoded.
        let (reach, overflow) = limit.multipliedReportingOverflow(by: 4)
        let characters = String(decoding: overflow ? bytes[...] : bytes.prefix(reach + 4), as: UTF8.self).unicodeScalars
        var text = ""
        var count = 0
        var isBehindBreak = false
        for character in characters {
            // In JSON, line breaks stand only between values, never inside one: with what indents the next line they
            // are one space.
            let isBreak = isJSON && (character == "\n" || character == "\r" || character == "\t")
            if isBehindBreak, isBreak || character == " " { continue }
            isBehindBreak = isBreak
            guard count < limit else { return (text, true) }
            if isBreak {
                text += " "
            } else if character.isVisible {
                text.unicodeScalars.append(character)
            } else {
                text += character.jsonEscape
            }
            count += 1
        }
        return (text, false)
    }
}
