/// The rule that resolves conflicts, and what it means.
extension Scenario {
    static let conflictRules = """
          - name: one-note
            when: { type: note }
            then:
              - resolve: winner
        """

    /// The leaves that must be deleted, because the winner is kept.
    static func losers(of document: StoredDocument) -> [StoredRevision] {
        guard let winner = document.winner, isResolved(document) else { return [] }
        return document.leaves.filter { !$0.isDeleted && $0.id != winner.id }
    }

    /// Whether a rule resolves the conflicts of a document.
    static func isResolved(_ document: StoredDocument) -> Bool {
        guard let winner = document.winner, !winner.isDeleted else { return false }
        return winner.body["type"] == #""note""# || isMemo(winner)
    }
}
