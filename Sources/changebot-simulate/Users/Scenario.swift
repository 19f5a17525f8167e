/// The rules of the simulated bot, and what they mean for a document. Written without the code that is tested.
enum Scenario {
    static let accounts = ["red", "green", "blue"]

    static let rules: String = {
        let orders = accounts.map { account in
            """
              - name: order-\(account)
                when: { type: order, account: \(account), copied: { $exists: false } }
                then:
                  - put: { id: account.\(account), document: { type: account, name: \(account) }, if_exists: keep }
                  - merge: { copied: true }
            """
        }
        return """
            version: 1
            rules:
              - name: stamp
                when: { type: task, stamped: { $exists: false } }
                then:
                  - merge: { stamped: true }
              - name: bin
                when: { type: trash }
                then:
                  - delete: {}

            """
                + (orders + [pictureRules, eventRules, programRules, totalRules, conflictRules]).joined(separator: "\n")
    }()

    /// The same rules, and one that matches no document and has another name in each version.
    static func rules(version: Int) -> String {
        guard version > 0 else { return rules }
        return rules + """

              - name: unused-\(version)
                when: { type: nothing }
                then:
                  - merge: { unused: true }

            """
    }

    /// What a rule does to a document.
    enum Effect: Equatable, CustomStringConvertible {
        /// Adds this member at the end; puts this other document before.
        case merge(member: String, put: String?)
        case delete
        case attach(Picture)
        /// Only an event.
        case event

        var description: String {
            switch self {
            case .merge(let member, _): member
            case .delete: "to be deleted"
            case .event: "an event"
            case .attach(let picture): "the attachment '\(picture.name)'"
            }
        }
    }

    /// The effect that a document needs; nil if it is as the rules want it.
    static func effect(on revision: StoredRevision) -> Effect? {
        let body = revision.body
        switch body["type"] {
        case #""task""#: return body["stamped"] == nil ? .merge(member: #""stamped":true"#, put: nil) : nil
        case #""trash""#: return .delete
        case #""alarm""#, #""meter""#: return .event
        case #""sale""#: return body["told"] == nil ? .merge(member: #""told":true"#, put: nil) : nil
        case #""order""#:
            let account = accounts.first { body["account"] == "\"\($0)\"" }
            guard let account, body["copied"] == nil else { return nil }
            return .merge(member: #""copied":true"#, put: "account.\(account)")
        default: return picture(neededBy: revision).map { .attach($0) } ?? computedEffect(on: body)
        }
    }

    /// The body of a document that a rule puts; nil if no rule puts one with this id.
    static func putBody(_ id: String) -> String? {
        guard id.hasPrefix("account.") else { return nil }
        return #"{"type":"account","name":"\#(id.dropFirst("account.".count))"}"#
    }
}
