internal import LosslessJSON

extension String {
    /// The text on one line. Characters that move the cursor, change the text direction or are invisible become JSON
    /// escapes.
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

    /// The text, truncated with `…` if it has more than `limit` Unicode scalars.
    func shortened(to limit: Int) -> String {
        let characters = unicodeScalars
        guard let end = characters.index(startIndex, offsetBy: limit, limitedBy: endIndex), end != endIndex else {
            return self
        }
        return self[..<end] + "…"
    }

    /// A sequence for a line of a table or of the log: CouchDB's have hundreds of characters. Commands print them whole
    /// with `--json`, logs with `--log-format json`.
    var shortSequence: String { visible.shortened(to: 24) }

    /// The text padded with trailing spaces to a width in characters.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The lines of the text. Only for the program's own text: in external text, line breaks must be escaped.
    var visibleLines: [VisibleLine] { split(separator: "\n", omittingEmptySubsequences: false).map { VisibleLine($0) } }
}

extension [UInt8] {
    /// Equivalent JSON with the same characters escaped as in ``String/visible``. Line breaks stay: in JSON they occur
    /// only between values.
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

/// One line of output for people. ``Console`` prints no other text for them. It can be made from any text: characters
/// that move the cursor, start a line or are invisible are escaped. Only ``TerminalStyle`` adds colours.
struct VisibleLine: Equatable, ExpressibleByStringLiteral {
    /// Without a final line feed.
    let text: String

    init(_ text: some StringProtocol) { self.text = String(text).visible }

    init(stringLiteral text: String) { self.init(text) }

    /// - Parameter color: The parameters of the ANSI colour code, such as `31`.
    init(_ text: String, color: StaticString) { self.text = "\u{1B}[\(color)m\(text.visible)\u{1B}[0m" }

    private init(safe text: String) { self.text = text }

    static func + (left: VisibleLine, right: VisibleLine) -> VisibleLine { VisibleLine(safe: left.text + right.text) }
}
