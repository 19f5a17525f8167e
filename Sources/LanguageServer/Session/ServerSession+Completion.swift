internal import LosslessJSON
internal import RuleEditing

extension ServerSession {
    func completions(_ file: EditedRuleFile, _ position: TextPosition) -> Result {
        let found = file.mayBeRules ? file.completions(at: position) : []
        return { writer in
            writer.array { writer in
                for (index, completion) in found.enumerated() { write(completion, index, file, &writer) }
            }
        }
    }

    private func write(
        _ completion: RuleCompletion, _ index: Int, _ file: EditedRuleFile, _ writer: inout JSONWriter
    ) {
        writer.object { writer in
            writer.member("label", string: completion.label)
            writer.member("kind", integer: completion.kind.number)
            if !completion.documentation.isEmpty { writer.member("documentation", markdown: completion.documentation) }
            // In the order of the schema.
            let number = String(index)
            writer.member("sortText", string: String(repeating: "0", count: max(0, 5 - number.utf8.count)) + number)
            writer.member("filterText", string: completion.label.filterText)
            let snippet = acceptsSnippets ? Self.snippet(completion, file) : nil
            writer.member("insertTextFormat", integer: snippet == nil ? 1 : 2)
            // Editors add the indentation of the line to the other lines of a snippet (2), and not to a text (1).
            writer.member("insertTextMode", integer: snippet == nil ? 1 : 2)
            writer.name("textEdit")
            writer.edit(TextEdit(range: completion.range, newText: snippet ?? completion.text))
        }
    }
}

extension ServerSession {
    /// The snippet of a completion, or a text of several lines as a snippet, without the indentation of its line. Nil
    /// for a text of one line.
    private static func snippet(_ completion: RuleCompletion, _ file: EditedRuleFile) -> String? {
        guard completion.snippet != nil || completion.text.contains("\n") else { return nil }
        let snippet = completion.snippet ?? completion.text.escapedForSnippet
        let line = file.lines.bytes[file.lines.range(ofLine: completion.range.start.line)]
        let indentation = line.prefix { $0 == UInt8(ascii: " ") }.count
        let lines = snippet.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().map { index, line in
            String(index == 0 ? line : line.dropFirst(min(indentation, line.prefix { $0 == " " }.count)))
        }.joined(separator: "\n")
    }
}

extension String {
    /// The text as a snippet without places.
    fileprivate var escapedForSnippet: String {
        replacing("\\", with: "\\\\").replacing("$", with: "\\$").replacing("}", with: "\\}")
    }

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
