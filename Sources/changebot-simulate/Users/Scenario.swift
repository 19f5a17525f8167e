/// The rules of the simulated bot, and what they mean for a document. Written without the code that is tested.
enum Scenario {
    /// Which rules the bot has.
    enum Extent: String, CaseIterable {
        case full
        /// Without lines, related documents, elements, passes and merged conflicts, and without trouble that was added with
        /// them. Stated seeds of mended faults depend on it.
        case basic
        /// What members of a fleet have: the basic rules, and those about deletions and about starting or stopping to match.
        case shared
    }

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

    /// The same rules, and one that matches no document and has another name in each version above 0.
    static func rules(_ extent: Extent, version: Int = 0) -> String {
        let more: [String] =
            switch extent {
            case .basic: []
            case .shared: [farewellRules, doorRules]
            case .full:
                [
                    lineRules, listRules, memoRules, farewellRules, refusalRules, duelRules, doorRules, debateRules,
                    dominoRules,
                ]
            }
        let rules = ([rules] + more).joined(separator: "\n")
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
        /// Adds this member at the end.
        case merge(member: String)
        case delete
        case attach(Picture)
        /// Only an event, or a line.
        case event

        var description: String {
            switch self {
            case .merge(let member): member
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
        case #""task""#: return body["stamped"] == nil ? .merge(member: #""stamped":true"#) : nil
        case #""trash""#: return .delete
        case #""alarm""#, #""meter""#, #""entry""#: return .event
        case #""visitor""#: return visitorEffect(on: revision)
        case #""errand""#: return revision.isDeleted ? .event : errandEffect(on: body)
        case #""sealed""#: return body["opened"] == nil ? .merge(member: #""opened":true"#) : nil
        case #""ping""#:
            return body["seen"] == nil ? .merge(member: #""seen":true"#) : revision.author == .user ? .event : nil
        case #""item""#: return body["tagged"] == nil ? .merge(member: #""tagged":true"#) : nil
        case #""duel""#: return body["answered"] == nil ? .merge(member: #""answered":true"#) : nil
        case #""debate""#: return body["replied"] == nil ? .merge(member: #""replied":true"#) : nil
        case #""domino""#: return body["fallen"] == nil ? .merge(member: #""fallen":true"#) : nil
        case #""list""#: return body["spread"] == nil ? .merge(member: #""spread":true"#) : nil
        case #""chore""#: return body["swept"] == nil ? .merge(member: #""swept":true"#) : nil
        case #""parcel""#:
            return body["packed"] == nil ? .merge(member: #""packed":true"#) : nil
        case #""sale""#: return body["told"] == nil ? .merge(member: #""told":true"#) : nil
        case #""order""#:
            return account(of: revision) == nil ? nil : .merge(member: #""copied":true"#)
        default: return picture(neededBy: revision).map { .attach($0) } ?? computedEffect(on: body)
        }
    }

    /// The documents that are put before a revision is marked.
    static func puts(_ id: String, _ revision: StoredRevision) -> [String] {
        if let account = account(of: revision) { return ["account.\(account)"] }
        return (0..<boxes(neededBy: revision)).map { box($0, of: id) } + dominoes(neededBy: id, revision)
    }

    /// The account to which an order is not copied yet.
    private static func account(of revision: StoredRevision) -> String? {
        guard !revision.isDeleted, revision.body["type"] == #""order""#, revision.body["copied"] == nil else {
            return nil
        }
        return allAccounts.first { revision.body["account"] == "\"\($0)\"" }
    }

    /// The body of a document that a rule puts; nil if no rule puts one with this id.
    static func putBody(_ id: String) -> String? {
        guard id.hasPrefix("account.") else { return boxBody(id) ?? dominoBody(id) }
        return #"{"type":"account","name":"\#(id.dropFirst("account.".count))"}"#
    }
}
