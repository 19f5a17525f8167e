/// The purpose of the rules in a file.
package enum RuleFileKind: String, Sendable {
    /// For documents of a database as they change.
    case rules
    /// For documents to import: `kind: mapping`.
    case mapping
}

extension RuleFileKind {
    /// The message for a file of this kind where another kind is required.
    var refusal: String {
        switch self {
        case .rules: "these are rules for changes, not a mapping; a file for --map needs 'kind: mapping'"
        case .mapping:
            "this is a mapping, which only changebot import --map uses; for changes, name a file without 'kind: "
                + "mapping'"
        }
    }

    /// What happens to a document on which a rule fails. Follows "the document".
    var failure: String { self == .mapping ? "is rejected" : "becomes a dead letter" }

    /// Whether a rule may write this member. Members that begin with `_` belong to the gateway, but a document to
    /// import does not belong to it yet.
    func mayWrite(_ member: String) -> Bool { self == .mapping || !member.begins(with: "_") }
}
