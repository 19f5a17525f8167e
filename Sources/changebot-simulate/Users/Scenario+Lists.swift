/// The rule that changes related documents, and what it means.
extension Scenario {
    static let lists = ["list.a", "list.b"]
    static let colors = ["red", "green", "blue", "white"]
    /// The rule changes no items of a list with more.
    static let itemLimit = 2

    static let listRules = """
          - name: color-of-list
            when: { type: list, spread: { $exists: false } }
            then:
              - related:
                  selector: { type: item, in: { jq: ._id } }
                  limit: \(itemLimit)
                  then: [merge: { color: { jq: $source.color } }]
              - merge: { spread: true }
          - name: tag
            when: { type: item, tagged: { $exists: false } }
            then:
              - merge: { tagged: true }
        """

    static func isList(_ id: String) -> Bool { lists.contains(id) }

    /// Whether a revision of the bot is an item with a tag, which it did not have before.
    static func isTagged(_ revision: StoredRevision, after parent: StoredRevision) -> Bool {
        !parent.isDeleted && isItem(parent.body) && parent.body["tagged"] == nil && revision.body["tagged"] != nil
    }

    static func isItem(_ body: DocumentBody) -> Bool { body["type"] == #""item""# }

    /// Whether the bot has yet to spread the color of a revision.
    static func needsSpreading(_ revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""list""# && revision.body["spread"] == nil
    }

    /// The items of a list.
    static func items(of list: String, _ gateway: SimulatedGateway) -> [StoredDocument] {
        gateway.ids.compactMap { gateway.documents[$0] }
            .filter { $0.body.map { isItem($0) && $0["in"] == "\"\(list)\"" } == true }
    }

    static func mayFailToSpread(_ revision: StoredRevision, because reason: String) -> Bool {
        needsSpreading(revision) && reason.contains("the limit of \(itemLimit) allows")
    }
}
