/// A text in an action that is used as it is, but looks like a jq program or like a template.
enum ForgottenProgram {
    private static let variables = [
        "$now", "$change", "$match", "$item", "$index", "$source", "$response", "$before", "$changed", "$ENV",
    ]
    private static let operators: Set = ["|", "+", "//", "==", "!=", "<=", ">=", "and", "or", "then"]
    /// Operators that also occur in file names: they count only after white space.
    private static let spacedOperators: Set = ["-", "*", "/", "<", ">"]

    /// What is wrong, and what to write. Nil if the value looks like plain text.
    static func message(_ text: String) -> String? {
        if isProgram(text) {
            return "'\(DisplayText.plain(text))' is plain text, not a program; write \(computed(text))"
        }
        guard ForgottenTemplate.hasPlaceholder(text) else { return nil }
        return "'\(DisplayText.plain(text))' is plain text, and placeholders are not filled in; write a program"
            + (ForgottenTemplate.program(text).map { ": { jq: '\($0)' }" } ?? ", such as { jq: '\"text \\(.member)\"' }")
    }

    /// What is wrong with a value of a selector that can't be computed, such as `when`. Nil if it looks like plain text.
    static func messageInSelector(_ text: String) -> String? {
        guard isProgram(text) || ForgottenTemplate.hasPlaceholder(text) else { return nil }
        return "'\(DisplayText.plain(text))' is plain text here and is not computed; compare it in a program: "
            + "if: .field == .other"
    }

    /// The value that was probably meant: `{ jq: .a }`, `{ jq: '"x" + ._id' }`.
    private static func computed(_ text: String) -> String {
        if isQuoted(text.trimmed) { return "it without the quotes around it" }
        guard text.wholeMatch(of: /[.$][A-Za-z0-9_.$]*/) == nil else { return "{ jq: \(text) }" }
        let isLong = text.unicodeScalars.count > DisplayText.limit || text.contains(where: \.isNewline)
        return "{ jq: '\(isLong ? "…" : text.replacing("'", with: "''"))' }"
    }

    // MARK: - Programs

    /// `{ jq: .a }` as text.
    private static func isQuoted(_ text: Substring) -> Bool {
        text.hasPrefix("{") && text.drop { "{ ".contains($0) }.hasPrefix("jq:")
    }

    static func isProgram(_ text: String) -> Bool {
        let text = text.trimmed
        let isVariable = variables.contains { name in
            text == name || [" ", ".", "|", "["].contains { text.hasPrefix(name + $0) }
        }
        let isNegated = text.hasPrefix("-.") && isPath(text.dropFirst())
        return isVariable || isQuoted(text) || isPath(text) || isNegated || isExpression(String(text))
    }

    /// `.petId`, `.owner.name`, `.lines[0].price`, `."a-b"`, `.["a"]`, and JSONPath's `$.petId`.
    private static func isPath(_ text: Substring) -> Bool {
        var rest = text.hasPrefix("$.") ? text.dropFirst() : text
        guard rest.hasPrefix("."), rest != ".", !FileEnding.isFileName(text) else { return false }
        let step = /\.?(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]*"|\[-?[0-9]*(?::-?[0-9]*)?\]|\["[^"]*"\])\??/
        while let match = rest.prefixMatch(of: step) {
            guard rest.hasPrefix(".") || rest.hasPrefix("[") else { return false }
            rest = rest[match.range.upperBound...]
        }
        return rest.isEmpty
    }

    /// An expression that reads a member or the document and computes: `"a" + ._id`, `.a // 0`, `. | keys`,
    /// `[.tags[]]`, `map(.price)`.
    private static func isExpression(_ text: String) -> Bool {
        let tokens = ProgramTokens(text)
        let words = tokens.texts
        guard let first = words.first, tokens.open.isEmpty else { return false }
        if words.count == 1 { return first.hasPrefix("\"") && !tokens.interpolations.isEmpty }
        if first == "now" { return words[1] == "|" }
        let isNumber = first.first?.isNumber == true
        guard isNumber || first.first.map({ ".\"([{$@".contains($0) }) == true || isCode(tokens) else {
            return false
        }
        let hasReads = words.indices.contains { reads(words, $0) }
        if calculates(tokens, words) { return hasReads || isPiped(words) && !isNumber }
        if first.hasPrefix("@") { return words[1].hasPrefix("\"") && !tokens.interpolations.isEmpty }
        if isNumber { return false }
        // `.a, .b`, `[.a]`, `{a: .b}`, `map(.a)`
        return isCode(tokens) && hasReads
            || words.indices.dropFirst().contains { index in
                reads(words, index) && ["[", "{", "(", ",", ":"].contains(words[index - 1])
            }
    }

    private static func calculates(_ tokens: ProgramTokens, _ words: [String]) -> Bool {
        words.indices.contains { index in
            let start = tokens.ranges[index].lowerBound
            let isSpaced = start > 0 && tokens.scalars[start - 1].properties.isWhitespace
            return operators.contains(words[index]) || isSpaced && spacedOperators.contains(words[index])
        }
    }

    /// Whether a program begins with these tokens: `if`, `try .a`, `map(`.
    private static func isCode(_ tokens: ProgramTokens) -> Bool {
        let (first, second) = (tokens.text(0), tokens.text(1))
        return switch first {
        case "if": true
        case "def": second != "("
        case "try", "reduce", "foreach": second.hasPrefix(".") || second.hasPrefix("$")
        default:
            second == "(" && tokens.ranges[0].upperBound == tokens.ranges[1].lowerBound
                && ProgramNames.functions.contains(first)
        }
    }

    /// Whether a value is piped into a function: `. | keys`, `.. | numbers`, `. | @json`.
    private static func isPiped(_ words: [String]) -> Bool {
        words.indices.dropFirst().dropLast().contains { index in
            let (before, next) = (words[index - 1], words[index + 1])
            return words[index] == "|" && before.first?.isLetter != true
                && (ProgramNames.functions.contains(next) || next.hasPrefix("@"))
        }
    }

    /// Whether the token reads a member, an element or a variable.
    private static func reads(_ words: [String], _ index: Int) -> Bool {
        let word = words[index]
        if word == "." { return index + 1 < words.count && words[index + 1] == "[" }
        if variables.contains(word) { return true }
        guard word.hasPrefix("."), let first = word.dropFirst().first else { return false }
        return (first == "_" || first.isASCII && first.isLetter) && !FileEnding.isFileName(word[...])
    }
}
