internal import JQ

/// Finds the column of a jq error: jq reports only the line.
enum ProgramPlace {
    /// The number of characters before the position on its line. Nil if there is no such line.
    static func offset(of error: JQCompileError, in program: String) -> Int? {
        let lines = program.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        guard let number = error.line, lines.indices.contains(number - 1) else { return nil }
        let line = Array(lines[number - 1].unicodeScalars)
        let start = line.firstIndex { $0 != " " && $0 != "\t" } ?? 0
        if let name = undefinedName(error.message) { return firstUse(of: name, in: line) ?? start }
        guard let token = unexpectedToken(error.message) else { return start }
        if token == "$end" { return line.count }
        let places = line.indices.filter { line[$0...].starts(with: token.unicodeScalars) }
        return places.count == 1 ? places[0] : start
    }

    /// `foo` for `foo/0 is not defined`, `$x` for `$x is not defined`.
    private static func undefinedName(_ message: String) -> [Unicode.Scalar]? {
        guard let end = message.firstRange(of: " is not defined")?.lowerBound else { return nil }
        let name = message[..<end].prefix { $0 != "/" }
        return name.isEmpty || name.contains(" ") ? nil : Array(name.unicodeScalars)
    }

    private static func firstUse(of name: [Unicode.Scalar], in line: [Unicode.Scalar]) -> Int? {
        line.indices.first { index in
            guard line[index...].starts(with: name) else { return false }
            let isWithinName = index > 0 && (isPartOfName(line[index - 1]) || line[index - 1] == ".")
            let end = index + name.count
            return !isWithinName && (end == line.count || !isPartOfName(line[end]))
        }
    }

    private static func isPartOfName(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar == "$"
            || scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
    }

    /// `}` for `syntax error, unexpected '}', expecting …`. Nil if jq names a kind of token instead of a literal one.
    private static func unexpectedToken(_ message: String) -> String? {
        guard let start = message.firstRange(of: "unexpected ")?.upperBound else { return nil }
        let rest = message[start...]
        if rest.hasPrefix("$end") { return "$end" }
        guard rest.first == "'", let end = rest.dropFirst().firstIndex(of: "'") else { return nil }
        return String(rest[rest.index(after: rest.startIndex)..<end])
    }
}
