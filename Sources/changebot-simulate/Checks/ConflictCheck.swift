/// Checks how conflicts are resolved.
struct ConflictCheck {
    /// The leaves that have lost against a winner which a rule keeps, or whose changes are merged, by document and
    /// revision.
    private var lost: Set<String> = []
    /// Documents that had more than two live leaves at the same time: what is merged first then depends on what the bot
    /// has read.
    private var crowded: Set<String> = []

    mutating func note(_ document: StoredDocument) {
        let live = document.leaves.filter { !$0.isDeleted }
        if live.count > 2 { crowded.insert(document.id) }
        let isCrowded = crowded.contains(document.id)
        if let winner = live.first, winner.body["type"] == #""note""# || isCrowded && Scenario.isMemo(winner) {
            for leaf in live.dropFirst() { noteLost(leaf, of: document) }
        }
        for merged in live where Scenario.isMemo(merged) {
            let others = live.filter { $0.id != merged.id }
            for leaf in others where isMerged(leaf, into: merged, after: merged, document) {
                noteLost(leaf, of: document)
            }
        }
    }

    /// Whether a revision of the bot resolves a conflict: it deletes a leaf that has lost, or merges leaves. Nothing else
    /// does.
    mutating func isResolution(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        guard let parent = revision.parent.flatMap(document.revision) else { return false }
        if revision.isDeleted {
            // The gateway may have forgotten the revision at which they branched, and the winner that the bot has read may
            // have been replaced since.
            return lost.contains("\(document.id) \(parent.id)")
                || document.revisions.contains {
                    Scenario.isMemo($0) && document.commonAncestor($0, parent)?.id != $0.id
                        && isMerged(parent, into: $0, after: $0, document)
                }
        }
        guard revision.isReplicated, Scenario.isMemo(parent) else { return false }
        let others = document.revisions.filter { $0.id != parent.id && $0.id != revision.id && !$0.isDeleted }
        let merged =
            crowded.contains(document.id)
            ? isMixture(revision, of: others + [parent]) ? others : []
            : others.filter { isMerged($0, into: revision, after: parent, document) }
        for leaf in merged { noteLost(leaf, of: document) }
        return !merged.isEmpty
    }

    func violation(_ document: StoredDocument, _ revision: StoredRevision) -> Violation {
        let parent = revision.parent.flatMap(document.revision)
        let leaves = document.leaves.filter { $0.id != revision.id }.map { leaf in
            let ancestor = parent.flatMap { document.commonAncestor($0, leaf) }
            return "\(leaf.id.short) \(leaf.body.text)\(leaf.attachments.map(\.name)), branched at "
                + "\(ancestor.map { "\($0.id.short) \($0.body.text)\($0.attachments.map(\.name))" } ?? "no revision")"
        }
        return Violation(
            guarantee: .bytes,
            detail: "\(document.id) \(parent?.id.short ?? "") \(parent?.body.text ?? "") became "
                + "\(revision.isDeleted ? "a tombstone" : revision.body.text), with the leaves "
                + leaves.joined(separator: "; "))
    }

    private mutating func noteLost(_ leaf: StoredRevision, of document: StoredDocument) {
        lost.insert("\(document.id) \(leaf.id)")
    }

    /// Whether a content is what a winner and another leaf become.
    private func isMerged(
        _ leaf: StoredRevision, into content: StoredRevision, after winner: StoredRevision, _ document: StoredDocument
    ) -> Bool {
        let found = Dictionary(
            content.body.members.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }, uniquingKeysWith: { $1 })
        let ancestor = document.commonAncestor(winner, leaf)
        // The bot may have read the ancestor before the gateway forgot it.
        var possible = [Scenario.merged(winner.body, leaf.body, after: ancestor?.body)]
        if let ancestor, document.compacted.contains(ancestor.id) || ancestor.isDeleted {
            possible.append(Scenario.merged(winner.body, leaf.body, after: nil))
        }
        return possible.contains(found)
            && content.attachments.allSatisfy { attachment in
                (winner.attachments + leaf.attachments).contains { $0.isSameContent(as: attachment) }
            }
    }

    /// Whether each member is one of these revisions.
    private func isMixture(_ content: StoredRevision, of revisions: [StoredRevision]) -> Bool {
        content.body.members.allSatisfy { member in
            revisions.contains { $0.body[member.name] == content.body[member.name] }
        }
    }
}
