internal import LosslessJSON

/// An additional selector (`--selector`): documents that it does not match stay unchanged.
package struct DocumentFilter: Sendable {
    let selector: Selector
    /// Part of ``RuleSet/hash``.
    let canonical: [UInt8]
    /// Whether it names design documents (`_design/`), as a rule's `when` may do.
    package var namesDesignDocuments: Bool { selector.namesDesignDocuments }

    /// Probable mistakes in the selector, as `LINE:COLUMN: what is wrong; what to do`.
    package let warnings: [String]

    /// - Parameters:
    ///   - text: A Mango selector as JSON.
    ///   - name: Its origin, for errors.
    /// - Throws: ``RuleFilesError`` if it is not a valid selector.
    package init(_ text: String, name: String) throws(RuleFilesError) {
        let errors = SourceErrors(path: name)
        let node = JSONSource.read(Array(text.utf8), errors: errors)
        guard let node, let selector = SelectorReader.read(node, errors: errors) else {
            throw RuleFilesError(kind: .invalid, errors: errors.errors)
        }
        self.selector = selector
        canonical = node.json
        warnings = LiteralCheck.findings(node).map { position, _, message in
            "\(position.line):\(position.column): \(message)"
        }
    }
}
