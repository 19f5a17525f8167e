// `name:value` instead of `name: value`: YAML needs a space after the colon.

extension SourceNode {
    /// What to do about a string that looks like `name:value`. Nil for any other string.
    var missingSpaceRemedy: String? {
        guard isPlain, case .string(let text) = content, let mistake = MissingSpace(text) else { return nil }
        return mistake.remedy
    }
}

extension SourceNode.Member {
    /// The message for `{ type:task }`, which YAML reads as a name without a value.
    func missingSpace(readAs kind: String) -> String? {
        guard case .null = value.content, value.isPlain, let mistake = MissingSpace(name) else { return nil }
        return "'\(mistake.name):\(mistake.value)' is read as \(kind); \(mistake.remedy)"
    }
}

/// The two parts of `name:value`, as messages show them.
struct MissingSpace {
    let name: String
    let value: String

    /// Nil if the text does not look like `name:value`. URLs don't.
    init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else { return nil }
        let (name, value) = (text[..<colon], text[colon...].dropFirst())
        guard !value.isEmpty, !value.hasPrefix("//"), !name.contains(where: \.isWhitespace) else { return nil }
        self.name = DisplayText.plain(String(name))
        self.value = DisplayText.plain(String(value))
    }

    var remedy: String { "write a space after the colon: \(name): \(value)" }
}
