internal import LosslessJSON
internal import RuleEditing

extension JSONWriter {
    mutating func member(_ name: String, _ range: TextRange) {
        self.name(name)
        object { writer in
            writer.member("start", range.start)
            writer.member("end", range.end)
        }
    }

    private mutating func member(_ name: String, _ position: TextPosition) {
        self.name(name)
        object { writer in
            writer.member("line", integer: position.line)
            writer.member("character", integer: position.column)
        }
    }

    mutating func edit(_ edit: TextEdit) {
        object { writer in
            writer.member("range", edit.range)
            writer.member("newText", string: edit.newText)
        }
    }

    mutating func member(_ name: String, markdown text: String) {
        self.name(name)
        object { writer in
            writer.member("kind", string: "markdown")
            writer.member("value", string: text)
        }
    }
}

extension JSONValue {
    /// A position. Nil if it is none.
    var position: TextPosition? {
        guard let line = self["line"]?.integer, let column = self["character"]?.integer, line >= 0, column >= 0 else {
            return nil
        }
        return TextPosition(line: line, column: column)
    }

    var range: TextRange? {
        guard let start = self["start"]?.position, let end = self["end"]?.position else { return nil }
        return TextRange(start: start, end: end)
    }
}
