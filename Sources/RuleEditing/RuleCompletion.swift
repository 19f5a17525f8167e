/// A text that may be inserted at the cursor.
package struct RuleCompletion: Hashable, Sendable {
    package enum Kind: Sendable { case key, value, rule, warningCode, action, operation, file, folder, snippet }

    package let label: String
    package let kind: Kind
    /// Markdown. Empty if there is none.
    package var documentation = ""
    /// The text to insert: with its indentation from the second line on.
    package let text: String
    /// The text with its places to fill in as `${1:name}`, as TextMate and language servers write them. Nil if it has
    /// none.
    package var snippet: String?
    /// What the text replaces: the word at the cursor.
    package let range: TextRange
}

/// What is known of the word at a position.
package struct RuleHover: Hashable, Sendable {
    /// Markdown.
    package let text: String
    package let range: TextRange
}

/// A test in the text.
package struct RuleTestPlace: Hashable, Sendable {
    package let name: String
    /// The name of the test, or its beginning if it has none.
    package let range: TextRange
    /// All of the test.
    package let extent: TextRange
    /// The files of the test, such as expected attachments.
    package let files: [RuleFileReference]
}

/// A file that the text names.
package struct RuleFileReference: Hashable, Sendable {
    /// The path as in the text.
    package let range: TextRange
    /// The path of the file, relative to the same folder as the rule file's.
    package let path: String
}
