internal import LosslessJSON

/// What a rule does to a document.
enum Action: Sendable {
    case attach(AttachAction)
    case merge(MergeAction)

    /// The keys that an action may have in a rule file.
    static let names = ["attach", "merge"]

    /// - Throws: ``JSONEditFault`` where the edit would be a guess or has no place. The draft is as it was.
    func apply(to draft: inout Draft) throws(JSONEditFault) {
        switch self {
        case .attach(let action): try action.apply(to: &draft)
        case .merge(let action): try action.apply(to: &draft)
        }
    }

    /// All that the action's outcome depends on, for ``RuleSet/hash``.
    func writeCanonical(to writer: inout JSONWriter) {
        switch self {
        case .attach(let action): action.writeCanonical(to: &writer)
        case .merge(let action): action.writeCanonical(to: &writer)
        }
    }

    /// The action of one list element; nil, with faults, if it is none.
    static func read(_ node: SourceNode, _ faults: SourceFaults, _ files: AttachmentFiles) -> Action? {
        guard let object = SourceObject(node, "an action", known: names, faults: faults),
            case .object(let members) = node.content
        else { return nil }
        guard members.count == 1 else {
            faults.report(
                at: members.dropFirst().first?.position ?? node.position,
                "one list element is one action, not \(members.count); begin each with '- '")
            return nil
        }
        if let node = object.node("attach") { return AttachAction(node, faults, files).map { .attach($0) } }
        if let node = object.node("merge") { return MergeAction(node, faults).map { .merge($0) } }
        return nil
    }
}

/// A document while rules work on it.
struct Draft {
    var document: JSONText
    /// What the document's placeholders stand for, by attachment name.
    var attachments: [String: Attachment] = [:]
}
