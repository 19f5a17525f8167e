/// The rules with programs and times, and what they mean.
extension Scenario {
    /// `invoice` computes a member. `remind` fires at a time that the document names.
    static let programRules = """
          - name: invoice
            when: { type: invoice, total: { $exists: false } }
            then:
              - merge: { jq: "{total: (.n * 2)}" }
          - name: remind
            when: { type: reminder, dueAt: { $type: number }, reminded: { $exists: false } }
            at: .dueAt
            then:
              - merge: { reminded: true }
        """

    /// Written in the quiet time, so that nothing delays it.
    static let lateReminder = "evening"

    static func computedEffect(on body: DocumentBody) -> Effect? {
        switch body["type"] {
        case #""invoice""#:
            guard body["total"] == nil, let number = body["n"].flatMap({ Int($0) }) else { return nil }
            return .merge(member: #""total":\#(2 * number)"#)
        case #""reminder""#, #""memo""#:
            return body["dueAt"] != nil && body["reminded"] == nil ? .merge(member: #""reminded":true"#) : nil
        default: return nil
        }
    }

    /// When a rule fires on a revision, in seconds since 1970; nil: at once, or not at all.
    static func time(of revision: StoredRevision) -> Int? {
        let isOpen =
            isErrand(revision)
            ? revision.body["noted"] != nil && revision.body["done"] == nil
            : !revision.isDeleted && [#""reminder""#, #""memo""#].contains(revision.body["type"])
                && revision.body["reminded"] == nil
        guard isOpen else { return nil }
        return revision.body["dueAt"].flatMap { Int($0) }
    }
}
