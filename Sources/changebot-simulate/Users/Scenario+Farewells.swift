/// The rules about deletions and about own revisions, and what they mean.
extension Scenario {
    /// `greet` marks a document, and `farewell` sends an event about its deletion. `errand` marks its document at once, so
    /// that `errand-due` fires on a revision that the bot has written.
    static let farewellRules = """
          - name: farewell
            on: [delete]
            when: { type: { $in: [visitor, errand] } }
            then:
              - webhook: { url: "\(receiverOrigin)/farewells", body: document }
          - name: greet
            when: { type: visitor, greeted: { $exists: false } }
            then:
              - merge: { greeted: true }
          - name: errand
            when: { type: errand, noted: { $exists: false } }
            then:
              - merge: { noted: true }
          - name: errand-due
            when: { type: errand, noted: true, dueAt: { $type: number }, done: { $exists: false } }
            at: .dueAt
            then:
              - merge: { done: true }
        """

    /// Whether a rule sends an event about a deletion.
    static func saysFarewell(_ revision: StoredRevision) -> Bool {
        revision.isDeleted && revision.author == .user
            && [#""visitor""#, #""errand""#].contains(revision.body["type"])
    }

    static func visitorEffect(on revision: StoredRevision) -> Effect? {
        if revision.isDeleted { return .event }
        return revision.body["greeted"] == nil ? .merge(member: #""greeted":true"#) : nil
    }

    static func isErrand(_ revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""errand""#
    }

    /// Whether a revision of the bot only notes an errand. It writes the document once more when the errand is due.
    static func onlyNotesErrand(_ revision: StoredRevision) -> Bool {
        isErrand(revision) && revision.body["done"] == nil
    }

    /// What an errand gets in the same write if it is due when it is noted.
    static func furtherMember(on revision: StoredRevision) -> String? {
        isErrand(revision) && revision.body["noted"] == nil && revision.body["done"] == nil ? #""done":true"# : nil
    }

    static func errandEffect(on body: DocumentBody) -> Effect? {
        if body["noted"] == nil { return .merge(member: #""noted":true"#) }
        return body["dueAt"] != nil && body["done"] == nil ? .merge(member: #""done":true"#) : nil
    }

    /// When a rule may write a revision of the bot, in seconds since 1970; nil: at any time.
    ///
    /// - Parameter parent: The revision that it replaces.
    static func time(of parent: StoredRevision, before revision: StoredRevision) -> Int? {
        guard isErrand(parent) else { return time(of: parent) }
        return revision.body["done"] == nil || parent.body["done"] != nil
            ? nil : parent.body["dueAt"].flatMap { Int($0) }
    }
}
