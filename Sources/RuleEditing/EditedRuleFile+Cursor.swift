extension EditedRuleFile {
    /// What can be inserted at a position: names, values, warning codes, rules and files that fit there.
    package func completions(at position: TextPosition) -> [RuleCompletion] {
        guard lines.bytes.count <= Self.outlinedLength else { return [] }
        return CompletionRequest(self, at: lines.offset(of: position)).completions
    }
}
