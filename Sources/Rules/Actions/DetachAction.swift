internal import LosslessJSON

/// Removes an attachment, and the member of a blob. A missing attachment is not an error.
struct DetachAction: Action {
    static let name = "detach"
    static let keys = ["name", "blob"]

    let place: AttachmentPlace

    var programs: [Int] { place.template.programs }

    /// Reads `detach: NAME`, `detach: { name: NAME }` or `detach: { blob: MEMBER }`. Nil, with errors, for anything
    /// else.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        if case .string(let text) = node.content, !text.isEmpty {
            place = .name(.literal(text))
            return
        }
        guard let object = SourceObject(node, "detach", known: Self.keys, errors: reading.errors),
            let place = AttachmentPlace(
                object, reading, remedy: "name the attachment to remove: name: image, or blob: image")
        else { return nil }
        self.place = place
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        guard let (name, blob) = try place.resolved(outputs, of: "the name of the attachment to remove") else { return }
        do throws(JSONEditError) {
            if let blob { draft.document = try blob.removeDescription(from: draft.document) }
            try remove(name, from: &draft)
        } catch {
            throw ActionError(error)
        }
    }

    private func remove(_ name: String, from draft: inout Draft) throws(JSONEditError) {
        let attachments = JSONPointer(tokens: ["_attachments"])
        guard let existing = draft.document.root["_attachments"], existing[name] != nil else { return }
        let rest = try draft.document.removing(attachments.appending(name))
        let isLast = rest.root["_attachments"]?.childCount == 0
        draft.document = isLast ? try rest.removing(attachments) : rest
        draft.attachments[ExactString(name)] = nil
    }
}

// MARK: - Checks

extension DetachAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        let blob = prediction.blob(argument)
        guard let name = argument.text ?? blob?.attachmentName ?? argument.member("name")?.text else {
            return prediction.addUnknownAttachment(argument)
        }
        prediction.edits.append((["_attachments", name], .removed))
        // A member that is not a blob stays.
        if let blob { prediction.addEdit(blob.pointer.tokens, .unknown) }
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        BlobCheck.attachmentMessages(argument)
    }
}
