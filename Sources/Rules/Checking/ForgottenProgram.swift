/// A text in an action that is used as it is, but looks like a jq program or like a template.
enum ForgottenProgram {
    private static let variables = ["$now", "$change", "$match", "$item", "$index", "$source", "$response"]
    private static let operators: Set = ["|", "+", "//", "==", "!=", "<=", ">=", "and", "or", "then"]
    /// Operators that also occur in file names: they count only after white space.
    private static let spacedOperators: Set = ["-", "*", "/", "<", ">"]

    /// What is wrong, and what to write. Nil if the value looks like plain text.
    static func message(_ text: String) -> String? {
        if isProgram(text) {
            return
                "'\(DisplayText.plain(text))' is plain text, not a program; write { jq: … } without quotes around it"
        }
        guard hasPlaceholder(text) else { return nil }
        return "'\(DisplayText.plain(text))' is plain text, and nothing is filled in; write a program"
            + (replacement(text).map { ": { jq: '\($0)' }" } ?? ", such as { jq: '\"text \\(.member)\"' }")
    }

    // MARK: - Programs

    private static func isProgram(_ text: String) -> Bool {
        let text = text.trimmed
        let isVariable = variables.contains { name in
            text == name || text.hasPrefix(name + " ") || text.hasPrefix(name + ".") || text.hasPrefix(name + "|")
        }
        let isQuoted = text.hasPrefix("{") && text.drop { "{ ".contains($0) }.hasPrefix("jq:")
        return isVariable || isQuoted || isPath(text) || isExpression(String(text))
    }

    /// `.petId`, `.owner.name`, `.lines[0].price`, `."a-b"`, `.["a"]`, and JSONPath's `$.petId`.
    private static func isPath(_ text: Substring) -> Bool {
        let step = /\.?(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]*"|\[[0-9]*\]|\["[^"]*"\])\??/
        var rest = text.hasPrefix("$.") ? text.dropFirst() : text
        guard rest.hasPrefix("."), rest != "." else { return false }
        while let match = rest.prefixMatch(of: step) {
            guard rest.hasPrefix(".") || rest.hasPrefix("[") else { return false }
            rest = rest[match.range.upperBound...]
        }
        return rest.isEmpty
    }

    /// An expression that reads a member and computes: `"a" + ._id`, `.a // 0`, `[.lines[].price] | add`.
    private static func isExpression(_ text: String) -> Bool {
        // Only `if` and `now` begin with a letter.
        guard let start = text.first, ".\"([{$in".contains(start) else { return false }
        let tokens = ProgramTokens(text)
        guard let first = tokens.ranges.indices.first.map(tokens.text), tokens.open.isEmpty else { return false }
        let words = tokens.ranges.indices.map(tokens.text)
        let calculates = tokens.ranges.indices.contains { index in
            let start = tokens.ranges[index].lowerBound
            let isSpaced = start > 0 && tokens.scalars[start - 1].properties.isWhitespace
            return operators.contains(words[index]) || isSpaced && spacedOperators.contains(words[index])
        }
        if first == "now" { return words.count > 1 && words[1] == "|" }
        guard first == "if" || first.first.map({ ".\"([{$".contains($0) }) == true else { return false }
        return calculates && words.contains(where: isMember)
    }

    private static func isMember(_ token: String) -> Bool {
        token.hasPrefix(".") && token.dropFirst().first.map { $0 == "_" || $0.isASCII && $0.isLetter } == true
    }

    // MARK: - Templates

    /// `{{_id}}`, `${_id}`, `#{_id}`, `%{_id}`, `{_id}`; outside a program, also `\(._id)`.
    private static func hasPlaceholder(_ text: String) -> Bool {
        guard text.contains("{") || text.contains("\\(") else { return false }
        return text.firstMatch(of: /\{\{\s*[.$]?[A-Za-z_][A-Za-z0-9_.]*\s*\}\}/) != nil
            || text.firstMatch(of: /[$#%]\{\s*[.$]?[A-Za-z_][A-Za-z0-9_.]*\s*\}/) != nil
            || text.firstMatch(of: /\{_(?:id|rev)\}/) != nil || text.firstMatch(of: /\\\(\s*[.$][^()]+\)/) != nil
    }

    /// The program that was probably intended: `"r.\(._id)"`. Nil if the text has characters that need escaping.
    private static func replacement(_ text: String) -> String? {
        let placeholder = /\{\{\s*[.$]?([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}|[$#%]?\{\s*[.$]?([A-Za-z_][A-Za-z0-9_.]*)\s*\}/
        guard !text.contains(where: { "'\"\\\n".contains($0) }) else { return nil }
        return "\""
            + text.replacing(placeholder) { match in "\\(.\(match.1 ?? match.2 ?? ""))" }
            + "\""
    }
}
