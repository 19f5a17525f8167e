/// The rule of the passes over all documents, and what it means.
extension Scenario {
    /// How often a pass runs, in seconds.
    static let passInterval = 240

    static let passRules = """
        version: 1
        every: "*/\(passInterval / 60) * * * *"
        rules:
          - name: sweep
            when: { type: chore, swept: { $exists: false } }
            then:
              - merge: { swept: true }
        """

    /// Whether only a pass changes a revision.
    static func waitsForPass(_ revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""chore""# && revision.body["swept"] == nil
    }
}
