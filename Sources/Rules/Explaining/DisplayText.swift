internal import LosslessJSON

/// Makes untrusted text safe to display: one line, limited length, without invisible characters and characters that
/// move the cursor.
enum DisplayText {
    /// The maximum number of characters of a value that are shown.
    static let limit = 60

    /// A JSON value as written, cut after `limit` characters. Closes the brackets and quotes that were cut off.
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

    /// A name, cut after `limit` characters.
    static func plain(_ text: String, limit: Int = DisplayText.limit) -> String {
        let (text, isCut) = line(text.utf8, isJSON: false, limit: limit)
        return isCut ? text + "…" : text
    }

    private static func line(
        _ bytes: some Collection<UInt8>, isJSON: Bool, limit: Int
    ) -> (text: String, isCut: Bool) {
        // A character has at most four bytes, so the rest is not decoded.
        let (reach, overflow) = limit.multipliedReportingOverflow(by: 4)
        let characters = String(decoding: overflow ? bytes[...] : bytes.prefix(reach + 4), as: UTF8.self).unicodeScalars
        var text = ""
        var count = 0
        var isAfterBreak = false
        for character in characters {
            // In JSON, line breaks occur only between values. A break and its indentation become one space.
            let isBreak = isJSON && (character == "\n" || character == "\r" || character == "\t")
            if isAfterBreak, isBreak || character == " " { continue }
            isAfterBreak = isBreak
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
