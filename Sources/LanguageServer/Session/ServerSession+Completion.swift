internal import LosslessJSON
internal import RuleEditing

extension ServerSession {
    func completions(_ file: EditedRuleFile, _ position: TextPosition) -> Result {
        let found = file.mayBeRules ? file.completions(at: position) : []
        return { writer in
            writer.array { writer in
                for (index, completion) in found.enumerated() { write(completion, index, &writer) }
            }
        }
    }

    private func write(_ completion: RuleCompletion, _ index: Int, _ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("label", string: completion.label)
            writer.member("kind", integer: completion.kind.number)
            if !completion.documentation.isEmpty { writer.member("documentation", markdown: completion.documentation) }
            // In the order of the schema.
            let number = String(index)
            writer.member("sortText", string: String(repeating: "0", count: max(0, 5 - number.utf8.count)) + number)
            writer.member("filterText", string: completion.label.filterText)
            let snippet = acceptsSnippets ? completion.snippet : nil
            writer.member("insertTextFormat", integer: snippet == nil ? 1 : 2)
            // The text has its indentation.
            writer.member("insertTextMode", integer: 1)
            writer.name("textEdit")
            writer.edit(TextEdit(range: completion.range, newText: snippet ?? completion.text))
        }
    }
}

extension String {
    /// What the editor compares with the typed text: without the dash of an element and the bracket of a list.
    fileprivate var filterText: String {
        String(drop { "-[ ".contains($0) })
    }
}

extension RuleCompletion.Kind {
    /// The number of the protocol's `CompletionItemKind`.
    fileprivate var number: Int {
        switch self {
        case .key: 10
        case .value: 12
        case .rule: 18
        case .warningCode: 20
        case .action: 2
        case .operation: 24
        case .file: 17
        case .folder: 19
        case .snippet: 15
        }
    }
}
