extension Unicode.Scalar {
    /// Whether a terminal shows the character as itself. Control characters do not, nor do line separators, characters
    /// that change the direction of text or take no room, and characters without a meaning of their own.
    package var isVisible: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: return false
        default: return true
        }
    }

    /// The character as JSON escapes it: `\u001b`; beyond U+FFFF two escapes.
    package var jsonEscape: String {
        String(self).utf16.reduce(into: "") { text, unit in
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
