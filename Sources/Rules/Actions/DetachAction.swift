internal import LosslessJSON

/// Removes an attachment. A missing one is no error.
struct DetachAction: Sendable {
    let name: TextTemplate

    /// Reads `detach: NAME` or `detach: { name: NAME }`; nil, with errors, if it is neither.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if case .string(let text) = node.content, !text.isEmpty {
            name = .literal(text)
            return
        }
        guard let object = SourceObject(node, "detach", known: ["name"], errors: reading.errors),
            let name = reading.requiredText(object, "name", "name the attachment to remove: name: image")
        else { return nil }
        self.name = name
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        let attachments = JSONPointer(tokens: ["_attachments"])
        guard let name = try name.text(outputs, of: "the name of the attachment to remove"),
            let existing = draft.document.root["_attachments"], existing[name] != nil
        else { return }
        do throws(JSONEditError) {
            let rest = try draft.document.removing(attachments.appending(name))
            let isLast = rest.root["_attachments"]?.childCount == 0
            draft.document = isLast ? try rest.removing(attachments) : rest
        } catch {
            throw ActionError(error)
        }
        draft.attachments[ExactString(name)] = nil
    }
}
