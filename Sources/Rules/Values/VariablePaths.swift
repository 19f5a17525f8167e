/// Finds the members of a variable that a program reads.
enum VariablePaths {
    /// One path for each use of the variable, in its order: `[address, city]` for `$before.address.city`,
    /// `$before["address"].city` and `$before | .address.city`. Empty for a use that names no member.
    ///
    /// - Parameter variable: With its `$`.
    static func of(_ variable: String, in program: String) -> [[String]] {
        let tokens = ProgramTokens(program)
        return ([program] + tokens.interpolations).flatMap { paths(variable, ProgramTokens($0).texts) }
    }

    private static func paths(_ variable: String, _ tokens: [String]) -> [[String]] {
        tokens.indices.filter { tokens[$0] == variable }.map { index in
            var rest = tokens[(index + 1)...]
            if rest.first == "|" { rest = rest.dropFirst() }
            var path: [String] = []
            while let name = takeStep(&rest) { path.append(name) }
            return path
        }
    }

    /// Takes `.name`, `."name"`, `.["name"]` or `["name"]`, after a `?`. Nil for anything else.
    private static func takeStep(_ tokens: inout ArraySlice<String>) -> String? {
        if tokens.first == "?" { tokens = tokens.dropFirst() }
        guard let next = tokens.first else { return nil }
        if next.hasPrefix("."), next.count > 1 {
            tokens = tokens.dropFirst()
            return String(next.dropFirst())
        }
        guard next == "." || next == "[" else { return nil }
        var rest = tokens.dropFirst()
        let isInBrackets = next == "[" || rest.first == "["
        if next == ".", isInBrackets { rest = rest.dropFirst() }
        guard let name = rest.first, name.hasPrefix("\""), name.hasSuffix("\""), name.count > 1, !name.contains("\\")
        else { return nil }
        rest = rest.dropFirst()
        if isInBrackets {
            guard rest.first == "]" else { return nil }
            rest = rest.dropFirst()
        }
        tokens = rest
        return String(name.dropFirst().dropLast())
    }
}
