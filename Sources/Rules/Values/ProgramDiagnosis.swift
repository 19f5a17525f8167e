internal import JQ

/// A compile error of jq in plain English, with a remedy.
struct ProgramDiagnosis: Sendable {
    let message: String
    let remedy: String
    /// The position in the program. Nil if it is unknown.
    let place: Place?

    struct Place: Equatable, Sendable {
        /// From 1.
        let line: Int
        /// The number of Unicode scalars before it on the line.
        let offset: Int
    }

    /// - Parameters:
    ///   - error: jq's own message.
    ///   - variables: The `$NAME` variables of the program.
    ///   - unexpected: The index of the token that jq did not expect. Nil if it is unknown.
    init(_ error: JQCompileError, _ program: String, variables: [String], unexpected: Int?) {
        let tokens = ProgramTokens(program)
        if let odd = OddCharacter.index(in: tokens) {
            let character = tokens.scalars[odd]
            message = "\(OddCharacter.name(of: character)), is not allowed here"
            remedy = OddCharacter.remedy(for: character)
            place = Place(odd, in: tokens.scalars)
        } else if let unexpected {
            (message, remedy) = Self.explanation(ofToken: unexpected, in: tokens, error.message)
            place = Place(tokens.ranges[unexpected].lowerBound, in: tokens.scalars)
        } else {
            (message, remedy) = Self.explanation(error.message, tokens, variables)
            place = ProgramPlace.offset(of: error, in: program).flatMap { offset in
                error.line.map { Place(line: $0, offset: offset) }
            }
        }
    }
}

extension ProgramDiagnosis {
    /// Also searches for the token that jq did not expect, which blocks for a few times 30 ms.
    ///
    /// - Parameter variables: The program's variables besides the common ones, without `$`.
    init(searching error: JQCompileError, in program: String, variables: [String]) {
        self.init(
            error, program, variables: Self.known(variables),
            unexpected: SyntaxErrorSearch.unexpectedToken(error, ProgramTokens(program), variables: variables))
    }

    /// The `$NAME` variables of a program.
    static func known(_ variables: [String]) -> [String] { (JQBinding.common + variables).map { "$" + $0 } }

    /// `MESSAGE; REMEDY`, on one line.
    var text: String { "\(DisplayText.plain(message, limit: 250)); \(remedy)" }

    /// The error at the line and column of the file, as far as they are known.
    ///
    /// - Parameters:
    ///   - program: The program as in the file.
    ///   - node: The position of the text in the file that has the program.
    ///   - file: The bytes of a YAML file. Empty for JSON.
    func error(of program: String, path: String, at node: SourcePosition, in file: [UInt8]) -> RuleFileError {
        guard let place else { return RuleFileError(path: path, position: node, message: "not a jq program: \(text)") }
        guard let written = YAMLTextPositions(program, at: node, in: file) else {
            return RuleFileError(
                path: path, position: node, message: "not a jq program: line \(place.line): \(text)")
        }
        return RuleFileError(
            path: path, position: written.position(line: place.line, offset: place.offset),
            message: "not a jq program: \(text)")
    }
}

extension ProgramDiagnosis {
    /// The error of a program in a file that the rule file names. The message has the place in that file.
    func error(in file: BodyFilePlace, path: String, at node: SourcePosition) -> RuleFileError {
        let line = file.line + (place?.line ?? 1) - 1
        let offset = place?.offset ?? 0
        let column = line == file.line ? file.column + offset : offset + 1
        return RuleFileError(
            path: path, position: node,
            message: "\(DisplayText.plain(file.path)):\(line):\(column): not a jq program: \(text)")
    }
}

extension ProgramDiagnosis.Place {
    fileprivate init(_ index: Int, in program: [Unicode.Scalar]) {
        let before = program[..<index]
        line = before.count { $0 == "\n" } + 1
        offset = index - ((before.lastIndex(of: "\n") ?? -1) + 1)
    }
}

// MARK: - Messages

extension ProgramDiagnosis {
    private static func explanation(
        _ message: String, _ tokens: ProgramTokens, _ variables: [String]
    ) -> (String, String) {
        if message.hasPrefix("syntax error, unexpected $end") { return explanationOfEnd(message, tokens) }
        if message.hasPrefix("Invalid escape") {
            return ("a string in it has an escape that jq does not know", "write \\\\ for a backslash")
        }
        if message.hasPrefix("module not found") { return (message, "programs can't import modules; remove it") }
        guard let end = message.firstRange(of: " is not defined")?.lowerBound else { return (message, "correct it") }
        return explanation(ofUndefined: String(message[..<end]), message, tokens, variables)
    }

    private static let ofComparing =
        "only a rule with 'changed', or with enter or leave in 'on', has it; add one of them to the rule, or remove it"

    /// What to do about variables that only some programs have.
    private static let remedies = [
        "$before": ofComparing, "$changed": ofComparing,
        "$item": "only the programs of an action with 'for_each' have it; add for_each: PROGRAM next to the action",
        "$index": "only the programs of an action with 'for_each' have it; add for_each: PROGRAM next to the action",
        "$response": "only the programs in the 'response' of a webhook have it; move it there",
        "$source": "only the programs in the 'then' of related have it; write . for the changed document",
    ]

    private static func explanation(
        ofUndefined name: String, _ message: String, _ tokens: ProgramTokens, _ variables: [String]
    ) -> (String, String) {
        if name.hasPrefix("$*label-") {
            let label = "$" + name.dropFirst("$*label-".count)
            return ("the label \(label) is not defined", "write label \(label) | … around it")
        }
        if let remedy = remedies[name] { return (message, remedy) }
        if name.hasPrefix("$") {
            let guess = NearestName.of(name, among: variables).map { "did you mean \($0)? " } ?? ""
            return (message, guess + "known here: \(variables.joined(separator: ", "))")
        }
        if let field = hyphenated(name, tokens) { return (message, "a name with '-' needs quotes: .\"\(field)\"") }
        if let remedy = ProgramNames.remedy(ofUndefined: name) { return (message, remedy) }
        guard name.hasSuffix("/0") else {
            return (message, "correct the name or the number of arguments; ';' separates arguments")
        }
        let word = String(name.dropLast(2))
        guard isValue(word, tokens) else { return (message, "correct the name") }
        return (message, "write \"\(word)\" if it is a string, or .\(word) if it is a field")
    }

    /// Whether a name stands alone, or in a value position: after a comparison, an operator or a colon.
    private static func isValue(_ word: String, _ tokens: ProgramTokens) -> Bool {
        guard let index = tokens.ranges.indices.first(where: { tokens.text($0) == word }) else {
            // In a string: "\(a)".
            return tokens.interpolations.contains { $0.trimmed == word }
        }
        if tokens.ranges.count == 1 { return true }
        if index == 0, ["==", "!=", "<", "<=", ">", ">="].contains(tokens.text(1)) { return true }
        return index > 0 && ["==", "!=", "<", "<=", ">", ">=", "+", "//", ":"].contains(tokens.text(index - 1))
    }

    /// `.user-name` instead of `."user-name"`: jq then looks for a function `name`.
    private static func hyphenated(_ function: String, _ tokens: ProgramTokens) -> String? {
        let name = function.prefix { $0 != "/" }
        let ranges = tokens.ranges
        guard let index = ranges.indices.dropFirst(2).first(where: { tokens.text($0) == name }),
            tokens.text(index - 1) == "-", tokens.text(index - 2).hasPrefix("."),
            ranges[index - 2].upperBound == ranges[index - 1].lowerBound,
            ranges[index - 1].upperBound == ranges[index].lowerBound
        else { return nil }
        return tokens.text(index - 2).dropFirst() + "-" + name
    }

    private static func explanationOfEnd(_ message: String, _ tokens: ProgramTokens) -> (String, String) {
        if message.contains("QQSTRING") { return ("a string in it is not closed", "write the missing '\"'") }
        let missing = ["(": ")", "[": "]", "{": "}", "if": "end"]
        let remedy =
            tokens.open.last.flatMap { missing[$0] }.map { "write the missing '\($0)'" }
            ?? tokens.ranges.indices.last.map { "something is missing after '\(shown($0, tokens))'" } ?? "write it"
        return ("the program ends too early", remedy)
    }

    private static func shown(_ index: Int, _ tokens: ProgramTokens) -> String {
        DisplayText.plain(tokens.text(index), limit: 30)
    }

    /// What to write for `42d`, as other keys of a rule file have it. Nil for other tokens.
    private static func remedy(ofDuration text: String) -> String? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let number = Int(digits), let unit = units[String(text.dropFirst(digits.count))],
            number <= 1_000_000
        else { return nil }
        let sum = unit == 86_400 ? "write … | add_days(\(number))" : "write \(number * unit), in seconds"
        return "a program has no durations: \(sum), or \"\(text)\" in quotes for text"
    }

    private static func explanation(
        ofToken index: Int, in tokens: ProgramTokens, _ message: String
    ) -> (String, String) {
        let text = tokens.text(index)
        let before = index > 0 ? tokens.text(index - 1) : ""
        if let remedy = remedy(ofDuration: text) { return ("'\(shown(index, tokens))' is not allowed here", remedy) }
        if text == "[", before == "." { return ("'.[' is not allowed here", "remove the '.' before the bracket") }
        let remedy =
            switch text {
            case _ where text.hasPrefix("&"): "write 'and'"
            case _ where text.hasPrefix("||"): "write 'or'"
            case "“", "”", "„", "‘", "’": "write straight quotes, \""
            case "(" where before.hasPrefix("."):
                "a function has no '.' before it; pass the value with |: .name | length"
            case _ where text.wholeMatch(of: /\.\d+/) != nil && before.hasPrefix("."):
                "write [\(text.dropFirst())] for an element"
            case "'": "jq strings need double quotes"
            case "!": "write '| not' after the value"
            case "===": "write =="
            case "end": "'if' needs 'else': if … then … else … end"
            case ")", "]", "}": "remove it, or write what is missing before it"
            case _ where before == "??": "write // for ??"
            case _ where before.hasSuffix("?"): "write if … then … else … end for … ? … : …"
            case _ where message.contains("expecting '}'"): "a comma or a '}' may be missing before it"
            default: "an operator such as '|' or ',' may be missing before it"
            }
        return ("'\(shown(index, tokens))' is not allowed here", remedy)
    }
}
