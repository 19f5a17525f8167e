/// Something in a rule that is legal and most likely wrong.
package struct RuleWarning: Hashable, Sendable, CustomStringConvertible {
    package let path: String
    package let position: SourcePosition
    /// The rule's name.
    package let rule: String
    /// What is wrong and what to do.
    package let message: String

    package var description: String {
        "\(path):\(position.line):\(position.column): warning: rule '\(rule)': \(message)"
    }
}
