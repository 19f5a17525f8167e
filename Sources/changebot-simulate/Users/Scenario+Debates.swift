/// The rule whose every write another app answers with other content, and what it means.
extension Scenario {
    static let debateRules = """
          - name: reply
            when: { type: debate, replied: { $exists: false } }
            then:
              - merge: { replied: true }
        """

    static let debate = "debate"
}

extension World {
    /// An app answers what the bot has written into a document.
    func contradict(_ document: StoredDocument, _ revision: StoredRevision) {
        guard document.id == Scenario.debate, case .bot(let process) = revision.author else { return }
        checking { try checks.rates.note(by: process, at: scheduler.uptime) }
        guard isActive else { return }
        scheduler.after(.milliseconds(10 + Int(scheduler.uptime % 50))) { [self] in
            guard isActive, gateway.documents[Scenario.debate]?.winner?.id == revision.id else { return }
            users.debate()
        }
    }
}
