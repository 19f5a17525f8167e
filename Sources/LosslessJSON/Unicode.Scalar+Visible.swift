extension Unicode.Scalar {
    /// Whether a terminal displays the character itself. False for control and format characters (which change the
    /// direction of text or have no width), line and paragraph separators, private use and unassigned characters.
    package var isVisible: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: return false
        default: return true
        }
    }

    /// The character as a JSON escape such as `\u001b`; two escapes above U+FFFF.
    package var jsonEscape: String {
        String(self).utf16.reduce(into: "") { text, unit in
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
