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
        guard let winner = document.winner, !winner.isDeleted, winner.body["type"] == #""note""# || isMemo(winner)
        else {
            return []
        }
        return document.leaves.filter { !$0.isDeleted && $0.id != winner.id }
    }
}
