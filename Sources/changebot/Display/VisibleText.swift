internal import LosslessJSON

extension String {
    /// The text on one line, with nothing in it that moves the cursor, turns the direction of what follows, or hides:
    /// such characters are written as JSON escapes them.
    var visible: String {
        guard unicodeScalars.contains(where: { !$0.isVisible }) else { return self }
        return unicodeScalars.reduce(into: "") { text, character in
            if character.isVisible {
                text.unicodeScalars.append(character)
            } else {
                text += character.jsonEscape
            }
        }
    }

    /// Its lines. Only for text of our own: what others wrote has no line breaks that count.
    var visibleLines: [VisibleLine] { split(separator: "\n", omittingEmptySubsequences: false).map { VisibleLine($0) } }
}

extension [UInt8] {
    /// JSON text that means the same, with every character escaped that ``String/visible`` escapes. Line breaks stay:
    /// JSON has them only between values.
    var visibleJSON: [UInt8] {
        guard contains(where: { $0 >= 0x7F }) else { return self }
        var text = ""
        for character in String(decoding: self, as: UTF8.self).unicodeScalars {
            if character.value < 0x7F || character.isVisible {
                text.unicodeScalars.append(character)
            } else {
                text += character.jsonEscape
            }
        }
        return Array(text.utf8)
    }
}

/// One line that people may see, and all that ``Console`` prints for them. It can be made of any text: what would move the
/// cursor, start a new line or hide is escaped. Only ``TerminalStyle`` adds colours.
struct VisibleLine: Equatable, ExpressibleByStringLiteral {
    /// Without a line feed at its end.
    let text: String

    init(_ text: some StringProtocol) { self.text = String(text).visible }

    init(stringLiteral text: String) { self.init(text) }

    /// - Parameter color: The parameter of the terminal's colour code.
    init(_ text: String, color: StaticString) { self.text = "\u{1B}[\(color)m\(text.visible)\u{1B}[0m" }

    private init(safe text: String) { self.text = text }

    static func + (left: VisibleLine, right: VisibleLine) -> VisibleLine { VisibleLine(safe: left.text + right.text) }
}
