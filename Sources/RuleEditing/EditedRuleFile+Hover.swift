extension EditedRuleFile {
    /// What is known of the word at a position: the description of a key, a value, a warning code, or where a rule is.
    /// Nil if nothing is.
    package func hover(at position: TextPosition) -> RuleHover? {
        let offset = lines.offset(of: position)
        guard let node = outline.node(at: offset) else { return nil }
        if let key = outline[node].key, key.lowerBound <= offset, offset <= key.upperBound {
            return hover(schema.at(outline.path(to: node)).documentation, key)
        }
        guard outline[node].content == .scalar, !outline[node].isBlockText else { return nil }
        return hoverOfValue(node)
    }

    private func hover(_ text: String, _ range: Range<Int>) -> RuleHover? {
        text.isEmpty ? nil : RuleHover(text: text, range: lines.range(range))
    }

    private func hoverOfValue(_ node: Int) -> RuleHover? {
        let path = outline.path(to: node)
        let value = text(of: node)
        let range = outline[node].range
        if path.namesRule {
            guard let rule = ruleNames.first(where: { $0.name == value }) else { return nil }
            return hover("Rule on line \(lines.position(at: outline[rule.node].range.lowerBound).line + 1).", range)
        }
        let view = schema.at(path)
        if let listed = view.values.first(where: { $0.value.scalarText == value }) {
            return hover(listed.description.map { "`\(value)`: \($0)" } ?? view.documentation, range)
        }
        return hover(view.documentation, range)
    }
}
