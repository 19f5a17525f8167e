/// The rule that merges conflicts, one that fires at a time that such a document names, and what they mean.
extension Scenario {
    static let memoRules = """
          - name: one-memo
            when: { type: memo }
            then:
              - resolve: { policy: merge, date: n }
          - name: memo-due
            when: { type: memo, dueAt: { $type: number }, reminded: { $exists: false } }
            at: .dueAt
            then:
              - merge: { reminded: true }
        """

    static func isMemo(_ revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""memo""#
    }

    /// What two leaves become, by the name of each member: a member that one side has changed is taken from that side, and
    /// one that both have changed from the side with the larger `n`.
    ///
    /// - Parameter ancestor: The revision at which they branched; nil if the gateway does not have it any more.
    static func merged(
        _ winner: DocumentBody, _ other: DocumentBody, after ancestor: DocumentBody?
    ) -> [String: String] {
        let isWinnerLater = date(winner) >= date(other)
        var result: [String: String] = [:]
        for name in Set((winner.members + other.members).map(\.name)) {
            let (ours, theirs) = (winner[name], other[name])
            let before = ancestor?[name]
            if ours == theirs {
                result[name] = ours
            } else if ancestor == nil {
                result[name] = ours == nil ? theirs : theirs == nil ? ours : isWinnerLater ? ours : theirs
            } else if ours == before {
                result[name] = theirs
            } else if theirs == before {
                result[name] = ours
            } else {
                result[name] = isWinnerLater ? ours : theirs
            }
        }
        return result
    }

    private static func date(_ body: DocumentBody) -> Int { body["n"].flatMap { Int($0) } ?? .min }
}
