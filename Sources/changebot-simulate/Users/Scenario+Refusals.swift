/// The rules whose writes the gateway refuses, as a validation or sync function does, and what they mean.
extension Scenario {
    private static let refusedAccount = "grey"

    static let refusalRules = """
          - name: order-\(refusedAccount)
            when: { type: order, account: \(refusedAccount), copied: { $exists: false } }
            then:
              - put: { id: account.\(refusedAccount), document: { type: account, name: \(refusedAccount) }, if_exists: keep }
              - merge: { copied: true }
          - name: sealed
            when: { type: sealed, opened: { $exists: false } }
            then:
              - merge: { opened: true }
        """

    static let allAccounts = accounts + [refusedAccount]

    /// Whether the gateway refuses a write of the bot.
    static func refusesWrite(_ id: String, _ body: DocumentBody) -> Bool {
        id == "account.\(refusedAccount)" || body["type"] == #""sealed""# || isRefusedMemo(body)
    }

    /// Some conflicts can't be resolved, because the merged document would be such a memo.
    private static func isRefusedMemo(_ body: DocumentBody) -> Bool {
        body["type"] == #""memo""# && body["n"].flatMap { Int($0) }?.isMultiple(of: 7) == true
    }

    static func mayBeRefused(_ revision: StoredRevision, because reason: String) -> Bool {
        guard !revision.isDeleted, reason.contains("refused it (403)") else { return false }
        return isRefusedMemo(revision.body) || revision.body["type"] == #""sealed""# && revision.body["opened"] == nil
            || revision.body["type"] == #""order""# && revision.body["account"] == "\"\(refusedAccount)\""
    }
}
