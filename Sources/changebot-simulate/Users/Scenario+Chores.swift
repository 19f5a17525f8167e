/// The rule of the passes over all documents, and what it means.
extension Scenario {
    /// How often a pass runs, in seconds: about as often as a round begins, so that trouble can happen during a pass, and
    /// the next one does not hide what is missing.
    static let passInterval = 480

    /// The last time at or before this one at which a pass is due, in seconds since 1970. Each hour begins with one.
    static func passTime(before time: Int) -> Int { time - time % 3600 % passInterval }

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
