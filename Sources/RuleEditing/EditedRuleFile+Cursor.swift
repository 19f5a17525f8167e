extension EditedRuleFile {
    /// What can be inserted at a position.
    package func completions(at position: TextPosition) -> [RuleCompletion] { [] }

    /// What is known of the word at a position. Nil if nothing is.
    package func hover(at position: TextPosition) -> RuleHover? { nil }

    /// The tests of the text, also if it is invalid elsewhere.
    package var tests: [RuleTestPlace] { [] }
}
