/// A syntax error of the YAML parser, with its most likely cause.
///
/// The parser reports where it stopped; the mistake may be before that position.
struct YAMLSyntaxError {
    let position: SourcePosition
    let message: String

    /// - Parameters:
    ///   - problem: The parser's message.
    ///   - mark: Where the parser stopped.
    ///   - start: The beginning of the construct that it was reading. Nil if unknown.
    init(_ problem: String, at mark: SourcePosition, from start: SourcePosition?, in text: String) {
        let lines = YAMLLines(text)
        let mistake =
            lines.unclosedQuote(problem, from: start, to: mark) ?? lines.tab(problem, at: mark)
            ?? lines.unquotedProgram(before: mark)
            ?? lines.missingSpace(from: start, to: mark) ?? lines.missingSpaceWithinBraces(at: mark)
        position = mistake?.position ?? mark
        message = "not YAML: \(problem); \(mistake?.remedy ?? Self.remedy(for: problem))"
    }

    /// The usual remedy for this error.
    private static func remedy(for problem: String) -> String {
        switch problem {
        case _ where problem.contains("cannot start any token"): "quote strings that begin with @, ` or %"
        case _ where problem.contains("unknown escape character"):
            "in double quotes \\ begins an escape: use single quotes, '\\d+'"
        case _ where problem.contains("could not find expected ':'"):
            "write 'key: value', with a space after the colon; or close the quotes that were opened before"
        case _ where problem.contains("mapping values are not allowed"):
            "indent it like the other keys of its object, and quote strings that contain ': '"
        case _ where problem.contains("expected '-' indicator"), _ where problem.contains("expected key"):
            "indent it like the lines above that it belongs to"
        case _ where problem.contains("expected ',' or"): "close the bracket or add the missing comma before it"
        case _ where problem.contains("end of stream"): "close the quotes or brackets that were opened before"
        default: "quote strings that begin with special characters"
        }
    }
}

/// The lines of a YAML file, to search for mistakes.
private struct YAMLLines {
    typealias Mistake = (position: SourcePosition, remedy: String)

    private let lines: [[Unicode.Scalar]]

    init(_ text: String) {
        lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map {
            Array($0.unicodeScalars)
        }
    }

    /// The line with this number, from 1. Empty if there is none.
    private subscript(number: Int) -> [Unicode.Scalar] { lines.indices.contains(number - 1) ? lines[number - 1] : [] }

    /// A quote that is not closed, or closed by the quote that was to open another text.
    func unclosedQuote(_ problem: String, from start: SourcePosition?, to mark: SourcePosition) -> Mistake? {
        let remedy = "the quote that opens here is not closed on its line; write the missing one"
        if problem.contains("end of stream") || problem.contains("document indicator"), let start,
            let scalar = self[start.line].dropFirst(start.column - 1).first, scalar == "\"" || scalar == "'"
        {
            return (start, remedy)
        }
        guard
            let text = YAMLQuotes(lines).texts.last(where: { ($0.end.line, $0.end.column) <= (mark.line, mark.column) }
            ),
            text.end.line == mark.line, (text.start.line + 1...text.end.line).contains(where: hasKey)
        else { return nil }
        return (text.start, remedy)
    }

    /// Whether a line looks like `key: value` or `- value`.
    private func hasKey(_ number: Int) -> Bool {
        String(self[number]).prefixMatch(of: /\s*(?:- |[\w$.\-]+:(?:\s|$))/) != nil
    }

    /// A tab in a line's indentation, if the parser complains about a character.
    func tab(_ problem: String, at mark: SourcePosition) -> Mistake? {
        guard problem.contains("tab") || problem.contains("cannot start any token") else { return nil }
        let indentation = self[mark.line].prefix { $0 == " " || $0 == "\t" }
        guard let tab = indentation.firstIndex(of: "\t") else { return nil }
        return (SourcePosition(line: mark.line, column: tab + 1), "indent with spaces, not tabs")
    }

    /// An unquoted jq program before the position, or one whose quotes end too early.
    func unquotedProgram(before mark: SourcePosition) -> Mistake? {
        let line = self[mark.line]
        let before = String(line.prefix(max(0, mark.column - 1)))
        guard let key = before.matches(of: /(?:^|[\s{,\[])(jq|if|for_each|at):[ \t]+/).last else { return nil }
        let column = before[..<key.range.upperBound].unicodeScalars.count
        let position = SourcePosition(line: mark.line, column: column + 1)
        switch line.indices.contains(column) ? line[column] : " " {
        case "|", ">": return nil
        case "'", "\"":
            return (
                position,
                "YAML ends the program at its second quote: put all of it in single quotes, and write '' for each ' in it"
            )
        default: return (position, "put the jq program in quotes: \(key.1): '…'")
        }
    }

    /// `name:value`, or `-name:`, on a line that the parser was reading or on the previous line.
    func missingSpace(from start: SourcePosition?, to mark: SourcePosition) -> Mistake? {
        let before = (1..<max(1, mark.line)).last { self[$0].contains { $0 != " " && $0 != "\t" } }
        for number in [start?.line, mark.line, before].compactMap(\.self) where number <= mark.line {
            if let mistake = missingSpace(inLine: number) { return mistake }
        }
        return nil
    }

    /// `{ $in:[…] }` or `{ $in […] }`, on the line where the parser stopped.
    func missingSpaceWithinBraces(at mark: SourcePosition) -> Mistake? {
        let line = String(self[mark.line])
        let mistake = /[{,][ \t]*([\w$.\-]+:(?=[\[{])|\$[A-Za-z]+:?[ \t]*(?=[\[{]))/
        for match in line.matches(of: mistake) where !match.1.hasSuffix(": ") {
            let name = match.1.prefix { $0 != ":" && !$0.isWhitespace }
            let column = line[..<match.1.startIndex].unicodeScalars.count + 1
            return (
                SourcePosition(line: mark.line, column: column),
                "write a colon and a space after the name: \(name): \(line[match.1.endIndex...].prefix(1))…"
            )
        }
        return nil
    }

    private func missingSpace(inLine number: Int) -> Mistake? {
        let line = String(self[number])
        if let match = line.prefixMatch(of: /[ \t]*(?:- +)*-(?=[A-Za-z_]\w*:)/) {
            let column = line[..<match.range.upperBound].unicodeScalars.count
            return (SourcePosition(line: number, column: column), "write a space after the dash: - name: …")
        }
        guard let match = line.prefixMatch(of: /([ \t]*(?:- +)*)([\w$.\-]+:[^\s:].*?)\s*$/),
            let mistake = MissingSpace(String(match.2))
        else { return nil }
        return (SourcePosition(line: number, column: match.1.unicodeScalars.count + 1), mistake.remedy)
    }
}

extension String {
    fileprivate init(_ scalars: some Sequence<Unicode.Scalar>) {
        self.init()
        unicodeScalars.append(contentsOf: scalars)
    }
}
