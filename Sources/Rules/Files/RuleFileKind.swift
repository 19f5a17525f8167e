/// What the rules of a file are for.
package enum RuleFileKind: String, Sendable {
    /// Documents of a database, as they change.
    case rules
    /// Documents on their way into a database: `kind: mapping`.
    case mapping
}

extension RuleFileKind {
    /// What is wrong with a file of this kind where another is wanted.
    var refusal: String {
        switch self {
        case .rules: "these are rules for changes, not a mapping; a file for --map says 'kind: mapping'"
        case .mapping:
            "this is a mapping, for changebot import --map; rules for changes are files without 'kind: mapping'"
        }
    }

    /// What becomes of a document for which a rule fails: "the document …".
    var failure: String { self == .mapping ? "is rejected" : "becomes a dead letter" }

    /// Whether a rule may write the member of the document: those that begin with `_` are the gateway's, but a document
    /// on its way into a database is still nobody's.
    func mayWrite(_ member: String) -> Bool { self == .mapping || !member.begins(with: "_") }
}
