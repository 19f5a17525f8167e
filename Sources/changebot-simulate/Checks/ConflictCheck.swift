/// Checks how conflicts are resolved.
struct ConflictCheck {
    /// The leaves that have lost against a winner which a rule keeps, by document and revision.
    private var lost: Set<String> = []

    mutating func note(_ document: StoredDocument) {
        for leaf in Scenario.losers(of: document) { lost.insert("\(document.id) \(leaf.id)") }
    }

    /// Whether a revision of the bot resolves a conflict: it deletes a leaf that has lost. Nothing else does.
    func isResolution(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        guard revision.isDeleted, let parent = revision.parent else { return false }
        return lost.contains("\(document.id) \(parent)")
    }
}
