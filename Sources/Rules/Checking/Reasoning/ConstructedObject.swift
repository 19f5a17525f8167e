/// A jq program that only constructs an object: `{ a: .b, "c": 1, d }`.
enum ConstructedObject {
    /// The names of its members, if they are literal. Empty for any other program.
    static func names(_ program: String) -> [String] { members(program).map(\.name) }

    /// The members with literal names, each with the tokens of its value. Empty for any other program.
    static func members(_ program: String) -> [(name: String, value: [String])] {
        let tokens = ProgramTokens(program)
        let texts = tokens.ranges.indices.map(tokens.text)
        guard texts.first == "{", texts.last == "}", tokens.open.isEmpty else { return [] }
        var members: [(name: String, value: [String])] = []
        var isNamed = false
        var depth = 0
        for (index, text) in texts.enumerated() {
            if ["}", ")", "]"].contains(text) {
                depth -= 1
                // More code follows the object.
                if depth == 0, index < texts.count - 1 { return [] }
            }
            if depth == 1, index > 0, ["{", ","].contains(texts[index - 1]), text != "}" {
                isNamed = false
                if !["{", "(", "["].contains(text), let name = name(text) {
                    members.append((name, []))
                    isNamed = true
                }
            } else if isNamed, depth > 1 || depth == 1 && text != "," {
                members[members.count - 1].value.append(text)
            }
            if ["{", "(", "["].contains(text) { depth += 1 }
        }
        return members.map { ($0.name, $0.value.first == ":" ? Array($0.value.dropFirst()) : $0.value) }
    }

    private static func name(_ token: String) -> String? {
        let isQuoted = token.hasPrefix("\"")
        let text = isQuoted ? token.dropFirst().dropLast() : token.drop { $0 == "$" }
        return text.isEmpty || text.contains("\\") || !isQuoted && text.contains("@") ? nil : String(text)
    }
}
