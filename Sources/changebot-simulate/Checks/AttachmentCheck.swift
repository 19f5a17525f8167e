/// Compares the attachments of a revision of the bot with those of the revision that it replaced.
enum AttachmentCheck {
    /// - Parameter added: The attachment that a rule adds or replaces; nil: none.
    /// - Throws: ``Violation``.
    static func check(
        _ id: String, _ revision: StoredRevision, _ parent: StoredRevision, adding added: Scenario.Picture?
    ) throws {
        let kept = parent.attachments.filter { $0.name != added?.name }
        let found = revision.attachments.filter { $0.name != added?.name }
        guard found == kept else {
            throw Violation(
                guarantee: .bytes,
                detail:
                    "\(id) \(parent.id.short) has the attachments \(text(kept)), and the bot made them \(text(found))"
            )
        }
        guard let added else { return }
        guard let attachment = revision.attachments[added.name] else {
            throw Violation(guarantee: .bytes, detail: "\(id) \(parent.id.short) did not get '\(added.name)'")
        }
        guard added.isMet(by: attachment) else {
            throw Violation(
                guarantee: .bytes,
                detail: "\(id) \(parent.id.short) got '\(added.name)' with \(attachment.type) of "
                    + "\(attachment.content.count) bytes, which no rule names")
        }
    }

    private static func text(_ attachments: [StoredAttachment]) -> String {
        attachments.isEmpty ? "none" : attachments.map { "\($0.name) \($0.digest)" }.joined(separator: ", ")
    }
}
