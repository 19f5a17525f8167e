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
        let path: ExactString
        let text: ExactString
    }

    private let context: EditingContext
    /// The paths of all files of the page.
    private let files: [String]
    private var last: (key: Key, evaluated: EvaluatedText)?
    /// The last valid ones.
    private var lastRules: RuleSet?

    init(_ context: EditingContext, files: [String]) { (self.context, self.files) = (context, files) }

    /// Reads a text. The last one is remembered.
    ///
    /// - Parameter isWanted: Asked before the work begins.
    /// - Returns: Nil if it is not wanted any longer.
    func read(_ text: String, of path: String, isWanted: @Sendable () -> Bool = { true }) -> EvaluatedText? {
        guard isWanted() else { return nil }
        let key = Key(path: ExactString(path), text: ExactString(text))
        if let last, last.key == key { return last.evaluated }
        // Rules of other files in the folder may never run together with these.
        let edited = EditedRuleFile(path: path, text: text, with: .files(files), in: context)
        let (files, diagnostics) = edited.check()
        let isValid = !diagnostics.contains { $0.severity == .error }
        let evaluated = EvaluatedText(
            diagnostics: diagnostics, files: files, rules: isValid ? rules(of: files) : nil)
        last = (key, evaluated)
        return evaluated
    }

    /// The rules. They run in the processes of the last ones if they have the same jq programs.
    private func rules(of files: RuleFileSet) -> RuleSet? {
        lastRules = files.firstFileRules(sharing: lastRules)
        lastRules?.prepare()
        return lastRules
    }
}
