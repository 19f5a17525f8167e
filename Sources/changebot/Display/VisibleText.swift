extension String {
    /// The text on one line, with nothing in it that moves the cursor, turns the direction of what follows, or hides:
    /// such characters are written as JSON escapes them.
    var visible: String {
        guard unicodeScalars.contains(where: { !$0.isVisible }) else { return self }
        var text = ""
        for character in unicodeScalars {
            if character.isVisible {
                text.unicodeScalars.append(character)
            } else {
                text += character.escape
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isVisible: Bool {
        if isASCII { return value >= 0x20 && value != 0x7F }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: return false
        default: return true
        }
    }

    fileprivate var escape: String {
        String(self).utf16.reduce(into: "") { text, unit in
            let digits = String(unit, radix: 16)
            text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }
}
