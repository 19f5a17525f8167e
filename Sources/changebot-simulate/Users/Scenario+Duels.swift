/// The rule that another app always undoes, and what it means.
extension Scenario {
    static let duelRules = """
          - name: answer
            when: { type: duel, answered: { $exists: false } }
            then:
              - merge: { answered: true }
        """

    /// How often the bot writes one content in a row, at most.
    static let duelLimit = 19
    static let duel = "duel"

    static func mayFailToAnswer(_ revision: StoredRevision, because reason: String) -> Bool {
        revision.body["type"] == #""duel""# && reason.contains("another bot or an app undoes it")
    }
}

extension World {
    /// An app undoes what the bot has written into a document.
    func undo(_ document: StoredDocument, _ revision: StoredRevision, _ parent: StoredRevision?) {
        guard document.id == Scenario.duel, let parent, case .bot(let process) = revision.author else { return }
        checking { try checks.duels.noteAnswer(by: process, parent.body) }
        guard isActive else { return }
        scheduler.after(.milliseconds(20 + Int(scheduler.uptime % 100))) { [self] in
            guard isActive, gateway.documents[Scenario.duel]?.winner?.id == revision.id else { return }
            users.undo(Scenario.duel, revision.id, parent.body)
        }
    }
}
