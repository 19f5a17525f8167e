/// A jq program that consists of one object: `{ a: .b, "c": 1, d }`.
enum ConstructedObject {
    /// The names of its members, if they are literal; none if the program is anything else.
    static func names(_ program: String) -> [String] {
        let tokens = ProgramTokens(program)
        let texts = tokens.ranges.indices.map(tokens.text)
        guard texts.first == "{", texts.last == "}", tokens.open.isEmpty else { return [] }
        var names: [String] = []
        var depth = 0
        for (index, text) in texts.enumerated() {
            switch text {
            case "{", "(", "[": depth += 1
            case "}", ")", "]":
                depth -= 1
                // Something else follows the object.
                if depth == 0, index < texts.count - 1 { return [] }
            default:
                guard depth == 1, ["{", ","].contains(texts[index - 1]) else { continue }
                if let name = name(text) { names.append(name) }
            }
        }
        return names
    }

    private static func name(_ token: String) -> String? {
        let text = token.hasPrefix("\"") ? token.dropFirst().dropLast() : token.drop { $0 == "$" }
        return text.isEmpty || text.contains("\\") || text.contains("@") ? nil : String(text)
    }
}
