/// How many items lists have had.
struct ListSizes {
    private struct Membership {
        let list: String
        /// The number of the write with which it began.
        let since: Int
    }

    /// Of each item, its list.
    private var memberships: [String: Membership] = [:]
    /// All items that each revision of a list has had at any time.
    private var seen: [String: [String: Set<String>]] = [:]
    /// When each list first had each color.
    private var colors: [String: [String: Int]] = [:]

    /// - Parameter time: The number of the write.
    mutating func note(_ document: StoredDocument, at time: Int) {
        let list = document.body.flatMap {
            Scenario.isItem($0) ? $0["in"].map { String($0.dropFirst().dropLast()) } : nil
        }
        if memberships[document.id]?.list != list {
            memberships[document.id] = list.map { Membership(list: $0, since: time) }
        }
        if let list {
            for revision in (seen[list] ?? [:]).keys { seen[list]?[revision]?.insert(document.id) }
        }
        guard let winner = document.winner, Scenario.needsSpreading(winner) else { return }
        let items = Set(memberships.filter { $0.value.list == document.id }.keys)
        if seen[document.id]?[winner.id] == nil { seen[document.id, default: [:]][winner.id] = items }
        if let color = winner.body["color"], colors[document.id]?[color] == nil {
            colors[document.id, default: [:]][color] = time
        }
    }

    func mayBeTooLong(_ list: String, _ revision: String) -> Bool {
        seen[list]?[revision].map { $0.count > Scenario.itemLimit } ?? true
    }

    /// The rule changes no item of a list that had too many of them all the time.
    ///
    /// - Throws: ``Violation``.
    func checkItem(_ item: StoredDocument, of list: String, color: String?) throws {
        guard let began = color.flatMap({ colors[list]?[$0] }) else { return }
        let items = memberships.filter { $0.value.list == list && $0.value.since < began }
        guard items.count > Scenario.itemLimit else { return }
        throw Violation(
            guarantee: .bytes,
            detail: "\(item.id) was changed, but \(list) had \(items.count) items all the time, and the rule allows "
                + "\(Scenario.itemLimit)")
    }
}
