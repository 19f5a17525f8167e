extension JQCompileError {
    /// Parses jq's message: `jq: error: MESSAGE (Unix shell quoting issues?) at <top-level>, line N:`, followed by the
    /// program's text on the next lines.
    init(jqMessage: String) {
        var text = jqMessage.prefix { !$0.isNewline }
        for prefix in ["jq: ", "error: "] where text.hasPrefix(prefix) { text = text.dropFirst(prefix.count) }
        let marks = text.indices.filter { text[$0...].hasPrefix(" at <top-level>") }
        if let mark = marks.last {
            line = Int(text[mark...].drop { $0 != "," }.drop { !$0.isNumber }.prefix { $0.isNumber })
            text = text[..<mark]
        }
        let hint = " (Unix shell quoting issues?)"
        if text.hasSuffix(hint) { text = text.dropLast(hint.count) }
        message = String(text)
    }
}
