internal import LosslessJSON

// Names of members, and snippets.

extension CompletionRequest {
    /// The names that the object can still have.
    func names(in object: Int, _ word: Range<Int>, form: Form) -> [RuleCompletion] {
        let view = view(of: object)
        let present = presentNames(object, besides: word)
        let listed = names(of: view, besides: present).map { item($0, of: view, word, form: form, prefix: "") }
        return listed + fields(of: object, view, present, word)
    }

    /// The names that the schema lists for an object.
    func names(of view: SchemaView, besides present: Set<String>) -> [String] {
        var names = view.memberNames
        if view.isAction {
            // One action, and optionally for_each.
            let actions = present.subtracting(["for_each"])
            if !actions.isEmpty { names = ["for_each"] }
        }
        // The type of a result is only for programs.
        if view.isComputed, !present.contains("jq") { names.removeAll { $0 == "type" } }
        return names.filter { !present.contains($0) }
    }

    /// The names that the object has in the whole text, except the word at the cursor.
    private func presentNames(_ object: Int, besides word: Range<Int>) -> Set<String> {
        let whole = file.outline
        let node = whole.node(like: before.outline[object]) ?? object
        guard whole.nodes.indices.contains(node) else { return [] }
        let children = whole[node].children.filter { child in
            // Names after the cursor count as well.
            guard let key = whole[child].key else { return false }
            let start = key.lowerBound + (file.lines.bytes[key.lowerBound] == UInt8(ascii: "\"") ? 1 : 0)
            return start != word.lowerBound && key.lowerBound != word.lowerBound
        }
        return Set(children.compactMap { whole[$0].name })
    }

    /// A name with its colon and the beginning of its value.
    func item(_ name: String, of view: SchemaView, _ word: Range<Int>, form: Form, prefix: String) -> RuleCompletion {
        let member = view.at(.member(name))
        let range = replaced(word)
        var (text, snippet) = (name, String?.none)
        if hasColon(after: range.upperBound) {
        } else if file.isJSON {
            text = isInQuotes(word) ? name : "\"\(name)\": "
        } else if case .block(let column) = form, let body = view.snippet(for: name) {
            let rendered = SnippetText(body, column: column, isFlow: false)
            (text, snippet) = (rendered.plain, rendered.snippet)
        } else if case .flow = form, let body = view.snippet(for: name) {
            let rendered = SnippetText(body, column: 0, isFlow: true)
            (text, snippet) = (rendered.plain.withoutBraces, rendered.snippet.withoutBraces)
        } else {
            text += value(of: member, name, form)
        }
        return RuleCompletion(
            label: name, kind: view.isAction ? .action : name.hasPrefix("$") ? .operation : .key,
            documentation: member.documentation, text: prefix + text,
            snippet: snippet.map { prefix + $0 },
            range: file.lines.range(range))
    }

    /// What follows a name: the colon, and the indentation of the lines of its value.
    private func value(of member: SchemaView, _ name: String, _ form: Form) -> String {
        guard case .block(let column) = form else { return ": " }
        let indentation = "\n" + String(repeating: " ", count: column + 2)
        let element = member.at(.element(0))
        if !element.schemas.isEmpty, element.allows("object"), !member.allows("string"), !name.hasPrefix("$") {
            return ":" + indentation + "- "
        }
        let isObject = member.allows("object") && !member.allows("string") && !member.isComputed
        return isObject && !member.memberNames.isEmpty && !member.isSelector ? ":" + indentation : ": "
    }

    private func hasColon(after offset: Int) -> Bool {
        let rest = file.lines.bytes[offset...].drop { $0 == UInt8(ascii: "\"") }.drop { $0 == UInt8(ascii: " ") }
        return rest.first == UInt8(ascii: ":")
    }

    func isInQuotes(_ word: Range<Int>) -> Bool {
        word.lowerBound > 0 && [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(file.lines.bytes[word.lowerBound - 1])
    }

    /// Members of documents that the file names elsewhere, in a selector.
    private func fields(of object: Int, _ view: SchemaView, _ present: Set<String>, _ word: Range<Int>)
        -> [RuleCompletion]
    {
        guard view.isSelector else { return [] }
        let range = replaced(word)
        let isNamed = hasColon(after: range.upperBound)
        return file.documentMembers.filter { !present.contains($0) && $0 != before.text(word) }.map { name in
            let shown = file.isJSON ? (isInQuotes(word) ? name : "\"\(name)\"") : name
            return RuleCompletion(
                label: name, kind: .value, documentation: "A member of documents in this file.",
                text: shown + (isNamed || isInQuotes(word) ? "" : ": "), range: file.lines.range(range))
        }
    }

    /// The snippets of a value.
    func snippets(_ view: SchemaView, _ word: Range<Int>, column: Int, prefix: String) -> [RuleCompletion] {
        guard !file.isJSON else { return [] }
        return view.snippets.compactMap { snippet in
            guard let label = snippet["label"]?.string, let body = snippet["body"], body.kind == .object,
                body.childCount > 0, !prefix.isEmpty || view.snippet(for: label) == nil
            else { return nil }
            let text = SnippetText(body, column: column, isFlow: false)
            return RuleCompletion(
                label: prefix + label, kind: .snippet,
                documentation: snippet["description"]?.string ?? "```yaml\n\(text.plain)\n```",
                text: prefix + text.plain, snippet: prefix + text.snippet, range: file.lines.range(replaced(word)))
        }
    }
}

extension SchemaView {
    /// Whether the value is an element of `then`.
    var isAction: Bool { memberNames.contains("for_each") }
    /// Whether the value may be `{ jq: PROGRAM }`.
    var isComputed: Bool { schemas.contains { $0["title"]?.string == "Computed value" } }
    /// Whether the value has names of fields.
    var isSelector: Bool { schemas.contains { $0["patternProperties"] != nil && $0["properties"]?["$or"] != nil } }

    /// The snippet whose only member has this name, and the name as its label.
    func snippet(for name: String) -> JSONValue? {
        snippets.first { snippet in
            snippet["label"]?.string == name && snippet["body"]?.childCount == 1 && snippet["body"]?[name] != nil
        }?["body"]
    }
}

extension String {
    /// The members of an object in braces.
    fileprivate var withoutBraces: String {
        hasPrefix("{ ") && hasSuffix(" }") ? String(dropFirst(2).dropLast(2)) : self
    }
}
