package import Rules

extension EditedRuleFile {
    /// The errors and warnings of `rules check` for this file alone, in order. Warnings only if there are no errors.
    package var diagnostics: [EditorDiagnostic] { check().diagnostics }

    /// The rules as far as they are valid, and the ``diagnostics``.
    package func check() -> (rules: RuleFileSet, diagnostics: [EditorDiagnostic]) {
        let (rules, errors) = read()
        return (rules, diagnostics(rules, errors))
    }

    private func diagnostics(_ rules: RuleFileSet, _ errors: [RuleFileError]) -> [EditorDiagnostic] {
        guard errors.isEmpty else { return errors.map(diagnostic) }
        guard lines.bytes.count <= Self.comparedLength else { return [notCompared] }
        let further = isOnDisk ? context.furtherWarnings(rules) : []
        let nodes = Dictionary(ruleNames.map { ($0.name, $0.node) }) { first, _ in first }
        return (rules.warnings() + further).map { diagnostic($0, nodes) } + clashes
    }

    private func diagnostic(_ error: RuleFileError) -> EditorDiagnostic {
        let word = word(at: error.position ?? .start)
        return EditorDiagnostic(
            range: lines.range(word), severity: .error, message: error.message, fixes: fixes(of: error.message, word))
    }

    /// - Parameter names: The nodes of the rules' names.
    private func diagnostic(_ warning: RuleWarning, _ names: [String: Int]) -> EditorDiagnostic {
        let word = word(at: warning.position)
        return EditorDiagnostic(
            range: lines.range(word), severity: .warning,
            message: (warning.rule.map { "rule '\($0)': " } ?? "") + warning.message, code: warning.code.rawValue,
            fixes: fixes(of: warning.message, word) + acceptance(of: warning, names))
    }

    private var notCompared: EditorDiagnostic {
        EditorDiagnostic(
            range: lines.range(word(at: .start)), severity: .information,
            message: "this file is too large to be checked for warnings while it is edited; run changebot rules check")
    }

    /// The key, value or bracket that begins at a position of the reader.
    private func word(at position: SourcePosition) -> Range<Int> {
        let start = lines.offset(of: position)
        return start..<lines.endOfWord(at: start)
    }
}

extension TextLines {
    /// The end of the key, value or bracket that begins at an offset, on the same line. At the end of a line, the
    /// offset itself.
    func endOfWord(at start: Int) -> Int {
        let end = range(ofLine: line(at: start)).upperBound
        guard start < end else { return start }
        switch bytes[start] {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","),
            UInt8(ascii: ":"):
            return start + 1
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return bytes[(start + 1)..<end].firstIndex(of: bytes[start]).map { $0 + 1 } ?? end
        default: return endOfPlainWord(start, end)
        }
    }

    private func endOfPlainWord(_ start: Int, _ end: Int) -> Int {
        var index = start
        scan: while index < end {
            let next = index + 1 < end ? bytes[index + 1] : UInt8(ascii: " ")
            switch bytes[index] {
            case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"): break scan
            case UInt8(ascii: ":") where next == UInt8(ascii: " "): break scan
            case UInt8(ascii: " ") where next == UInt8(ascii: "#") || next == UInt8(ascii: " "): break scan
            default: index += 1
            }
        }
        while index > start, bytes[index - 1] == UInt8(ascii: " ") { index -= 1 }
        return max(index, start + 1)
    }
}
