internal import LosslessJSON
internal import RuleEditing

// Requests about a document.

extension ServerSession {
    typealias Result = (inout JSONWriter) -> Void

    /// How a request about an open document is answered. Nil if the method is not known. The answer is nil if a
    /// parameter is missing.
    func documentRequest(
        _ method: String
    ) -> ((EditedRuleFile, OpenDocument, JSONValue) -> Result?)? {
        switch method {
        case "textDocument/hover": { file, _, params in params["position"]?.position.map { hover(file, $0) } }
        case "textDocument/completion":
            { file, _, params in params["position"]?.position.map { completions(file, $0) } }
        case "textDocument/definition":
            { file, document, params in params["position"]?.position.map { definition(file, document.uri, $0) } }
        case "textDocument/codeLens": { file, document, _ in lenses(file, document.uri) }
        case "textDocument/codeAction":
            { file, document, params in params["range"]?.range.map { actions(file, document, $0, params["context"]) } }
        default: nil
        }
    }

    private func hover(_ file: EditedRuleFile, _ position: TextPosition) -> Result {
        guard file.mayBeRules, let hover = file.hover(at: position) else { return { $0.null() } }
        return { writer in
            writer.object { writer in
                writer.member("contents", markdown: hover.text)
                writer.member("range", hover.range)
            }
        }
    }

    private func definition(_ file: EditedRuleFile, _ uri: String, _ position: TextPosition) -> Result {
        guard file.mayBeRules else { return { $0.null() } }
        let start = TextRange(start: TextPosition(line: 0, column: 0), end: TextPosition(line: 0, column: 0))
        func location(_ uri: String, _ range: TextRange) -> Result {
            { writer in
                writer.object { writer in
                    writer.member("uri", string: uri)
                    writer.member("range", range)
                }
            }
        }
        return switch file.definition(at: position) {
        case .here(let range)?: location(uri, range)
        case .file(let reference)?: location(DocumentURI.file(reference.path), start)
        case nil: { $0.null() }
        }
    }

    private func lenses(_ file: EditedRuleFile, _ uri: String) -> Result {
        let tests = file.hasRules ? file.tests : []
        return { writer in
            writer.array { writer in
                for (index, test) in tests.enumerated() {
                    writer.object { writer in
                        writer.member("range", test.range)
                        writer.command("Run test", index, test, uri)
                    }
                }
            }
        }
    }

    // MARK: - Code actions

    /// Quick fixes of the errors and warnings in a range, and the tests in it: not all editors show code lenses.
    private func actions(
        _ file: EditedRuleFile, _ document: OpenDocument, _ range: TextRange, _ context: JSONValue?
    ) -> Result {
        guard acceptsActions, file.hasRules else { return { $0.array { _ in } } }
        let diagnostics = Self.wantsFixes(context) ? document.diagnostics.filter { $0.range.meets(range) } : []
        let tests = context?["only"] == nil ? file.tests.enumerated().filter { $0.element.extent.meets(range) } : []
        return { writer in
            writer.array { writer in
                for diagnostic in diagnostics {
                    for fix in diagnostic.fixes { writer.action(fix, for: diagnostic, document.uri) }
                }
                for (index, test) in tests {
                    writer.object { writer in
                        writer.member("title", string: "Run test '\(test.name)'")
                        writer.command("Run test", index, test, document.uri)
                    }
                }
            }
        }
    }

    /// Whether the editor asks for all code actions, or for quick fixes among others.
    private static func wantsFixes(_ context: JSONValue?) -> Bool {
        guard let kinds = context?["only"], kinds.kind == .array else { return true }
        return kinds.elements.contains { $0.string == "quickfix" || $0.string == "" }
    }
}

extension JSONWriter {
    /// The command that runs a test, as a member.
    fileprivate mutating func command(_ title: String, _ index: Int, _ test: RuleTestPlace, _ uri: String) {
        name("command")
        object { writer in
            writer.member("title", string: title)
            writer.member("command", string: ServerSession.runTest)
            writer.name("arguments")
            writer.array { writer in
                writer.object { writer in
                    writer.member("uri", string: uri)
                    writer.member("index", integer: index)
                    writer.member("name", string: test.name)
                }
            }
        }
    }

    fileprivate mutating func action(_ fix: QuickFix, for diagnostic: EditorDiagnostic, _ uri: String) {
        object { writer in
            writer.member("title", string: fix.title)
            writer.member("kind", string: "quickfix")
            writer.name("diagnostics")
            writer.array { Diagnostics.write(diagnostic, to: &$0) }
            // The remedy of an error is better than the acceptance of a warning.
            writer.member("isPreferred", bool: diagnostic.severity == .error)
            writer.name("edit")
            writer.object { writer in
                writer.name("changes")
                writer.object { writer in
                    writer.name(uri)
                    writer.array { writer in for edit in fix.edits { writer.edit(edit) } }
                }
            }
        }
    }
}

extension TextRange {
    /// Whether they have a position in common, also at their ends.
    fileprivate func meets(_ other: TextRange) -> Bool { start <= other.end && other.start <= end }
}
