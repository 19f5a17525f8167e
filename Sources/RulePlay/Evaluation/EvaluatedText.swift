internal import RuleEditing
internal import Rules

/// A text of a rule file, read once for all its evaluations.
struct EvaluatedText: Sendable {
    let diagnostics: [EditorDiagnostic]
    let files: RuleFileSet
    /// Nil if the text has errors.
    let rules: RuleSet?
}

/// Reads the texts of rule files, one at a time.
actor TextReader {
    private struct Key: Equatable {
        let path: String
        let text: String
    }

    private let context: EditingContext
    private var last: (key: Key, evaluated: EvaluatedText)?

    init(_ context: EditingContext) { self.context = context }

    /// Reads a text. The last one is remembered.
    ///
    /// - Parameter isWanted: Asked before the work begins.
    /// - Returns: Nil if it is not wanted any longer.
    func read(_ text: String, of path: String, isWanted: @Sendable () -> Bool = { true }) -> EvaluatedText? {
        guard isWanted() else { return nil }
        let key = Key(path: path, text: text)
        if let last, last.key == key { return last.evaluated }
        let edited = EditedRuleFile(path: path, text: text, in: context)
        let (files, diagnostics) = edited.check()
        let isValid = !diagnostics.contains { $0.severity == .error }
        let evaluated = EvaluatedText(
            diagnostics: diagnostics, files: files, rules: isValid ? rules(of: files) : nil)
        last = (key, evaluated)
        return evaluated
    }

    /// The rules, with the running programs of the last text if it has the same rules.
    private func rules(of files: RuleFileSet) -> RuleSet? {
        guard let rules = files.firstFileRules else { return nil }
        if let known = lastRules, known.hash == rules.hash, known.names == rules.names { return known }
        lastRules = rules
        rules.prepare()
        return rules
    }

    private var lastRules: RuleSet?
}
