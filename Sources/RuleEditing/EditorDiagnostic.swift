/// An error or a warning of `rules check`, at its place in a text that is being edited.
package struct EditorDiagnostic: Hashable, Sendable {
    package enum Severity: Sendable { case error, warning, information }

    package let range: TextRange
    package let severity: Severity
    /// What is wrong and what to do, in the words of `rules check`, on one line.
    package let message: String
    /// The code of a warning, which `allow` in the rule accepts.
    package let code: String?
    package let fixes: [QuickFix]

    package init(
        range: TextRange, severity: Severity, message: String, code: String? = nil, fixes: [QuickFix] = []
    ) {
        self.range = range
        self.severity = severity
        self.message = message
        self.code = code
        self.fixes = fixes
    }
}

/// A change that removes an error or a warning.
package struct QuickFix: Hashable, Sendable {
    /// What it does: `Write 'when'`.
    package let title: String
    package let edits: [TextEdit]
}
