internal import LosslessJSON

/// Makes the document a tombstone.
struct DeleteAction: Action {
    static let name = "delete"
    static let synonyms = ["remove"]
    static let isLast = true
    static let forEachError: String? =
        "'delete' takes effect only once per document; remove 'for_each', or limit "
        + "the rule with 'if'"

    /// Reads `delete: {}`, `delete: true` or an empty value. Nil, with an error, for anything else.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        switch node.content {
        case .null, .bool(true): break
        case .object(let members) where members.isEmpty: break
        default:
            reading.errors.reportKind(of: node, "delete takes no argument", remedy: "write delete: {}")
            return nil
        }
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) { try draft.delete() }

    func add(_ argument: SourceNode, to prediction: inout RulePrediction) { prediction.deletes = true }
}
