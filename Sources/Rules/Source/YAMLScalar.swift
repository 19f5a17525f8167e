internal import Encodings
internal import LosslessJSON

/// A text as a scalar of a YAML file.
package enum YAMLScalar {
    /// The text without quotes if YAML reads exactly this text there, or else in double quotes.
    package static func text(_ text: String) -> String { isPlain(text) ? text : quoted(text) }

    /// The text in double quotes. Characters that can't be seen are escaped.
    package static func quoted(_ text: String) -> String { FlowText.quoted(text) }

    private static let words: Set<String> = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
    /// Characters that mean nothing inside a plain scalar, neither in brackets nor on lines.
    private static let marks = " _-./'()+=:"

    private static func isPlain(_ text: String) -> Bool {
        guard text.unicodeScalars.allSatisfy(\.isVisible), let first = text.first, text.last != " ", text.last != ":",
            !text.contains(": ")
        else { return false }
        guard first.isLetter || "_/".contains(first) || ["./", "../"].contains(where: text.hasPrefix) else {
            return false
        }
        return text.allSatisfy { $0.isLetter || $0.isNumber || marks.contains($0) }
            && !words.contains(text.lowercased())
    }

    /// Whether a rule file can contain the text: it has no control characters and no line breaks.
    package static func canHold(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { character in
            switch character.value {
            case 0x20..<0x7F, 0xA0..<0x2028, 0x202A..<0xD800, 0xE000..<0xFEFF, 0xFF00...0xFFFD, 0x10000...0x10FFFF: true
            default: false
            }
        }
    }
}
