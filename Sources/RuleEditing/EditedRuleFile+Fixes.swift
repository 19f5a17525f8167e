internal import Rules

extension EditedRuleFile {
    /// The replacements that an error message proposes for the word at its place.
    func fixes(of message: String, _ word: Range<Int>) -> [QuickFix] {
        let text = lines.text(word)
        if let match = message.firstMatch(of: /: did you mean '([^']+)'\?/) {
            return [replacing(word, with: String(match.1))]
        }
        if let match = message.firstMatch(of: /write a space after the colon: ([^:]+): (.+)$/),
            text.hasPrefix("\(match.1):")
        {
            let colon = word.lowerBound + match.1.utf8.count + 1
            return [QuickFix(title: "Write a space after the colon", edits: [insertion(" ", at: colon)])]
        }
        if message.contains("indent with spaces, not tabs") { return [indentingWithSpaces(word)] }
        return []
    }

    private func replacing(_ word: Range<Int>, with text: String) -> QuickFix {
        var range = word
        if range.count >= 2, let quote = lines.bytes[range].first,
            quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            lines.bytes[range].last == quote
        {
            range = range.lowerBound + 1..<range.upperBound - 1
        }
        return QuickFix(
            title: "Write '\(text)'", edits: [TextEdit(range: lines.range(range), newText: text)])
    }

    private func insertion(_ text: String, at offset: Int) -> TextEdit {
        TextEdit(range: lines.range(offset..<offset), newText: text)
    }

    private func indentingWithSpaces(_ word: Range<Int>) -> QuickFix {
        let line = lines.range(ofLine: lines.line(at: word.lowerBound))
        let indentation = lines.bytes[line].prefix { $0 == 0x20 || $0 == 0x09 }
        let spaces = indentation.reduce(0) { $0 + ($1 == 0x09 ? 2 : 1) }
        return QuickFix(
            title: "Indent with spaces",
            edits: [
                TextEdit(
                    range: lines.range(indentation.startIndex..<indentation.endIndex),
                    newText: String(repeating: " ", count: spaces))
            ])
    }

    // MARK: - Accepting a warning

    /// Adds the code of a warning to the `allow` list of its rule.
    ///
    /// - Parameter names: The nodes of the rules' names.
    func acceptance(of warning: RuleWarning, _ names: [String: Int]) -> [QuickFix] {
        guard let name = warning.rule, warning.code != .unusedAllow,
            let rule = names[name].flatMap({ outline[$0].parent })
        else { return [] }
        let code = warning.code.rawValue
        return allowEdit(code, rule).map { [QuickFix(title: "Accept this warning: allow: [\(code)]", edits: [$0])] }
            ?? []
    }

    private func allowEdit(_ code: String, _ rule: Int) -> TextEdit? {
        let shown = isJSON ? "\"\(code)\"" : code
        if let allow = outline.member("allow", of: rule) {
            let node = outline[allow]
            guard node.content == .list else { return nil }
            if node.isFlow {
                return insertion((node.children.isEmpty ? "" : ", ") + shown, at: node.range.upperBound - 1)
            }
            guard let last = node.children.last else { return nil }
            let line = lines.range(ofLine: lines.line(at: outline[last].range.upperBound))
            return insertion("\n" + String(repeating: " ", count: node.indentation) + "- " + code, at: line.upperBound)
        }
        guard let name = outline.member("name", of: rule) else { return nil }
        if outline[rule].isFlow {
            return insertion(
                ", " + (isJSON ? "\"allow\"" : "allow") + ": [\(shown)]", at: outline[name].range.upperBound)
        }
        let line = lines.range(ofLine: lines.line(at: outline[name].range.upperBound))
        return insertion(
            "\n" + String(repeating: " ", count: outline[rule].indentation) + "allow: [\(code)]", at: line.upperBound)
    }
}
