/// Checks the documents that rules change because of another document.
struct RelatedCheck {
    /// The colors of each list while they had to be spread.
    private var colors: [String: Set<String>] = [:]
    /// When each revision was written, and each document was last changed, as the number of the write.
    private var times: [String: Int] = [:]
    private var lastChanges: [String: Int] = [:]
    private var count = 0
    /// When the database was last replaced.
    private var reset = 0
    private var sizes = ListSizes()

    mutating func noteReset(_ gateway: SimulatedGateway) {
        count += 1
        reset = count
        sizes = ListSizes()
        for id in gateway.ids { if let document = gateway.documents[id] { sizes.note(document, at: count) } }
    }

    mutating func note(_ document: StoredDocument, _ revision: StoredRevision) {
        count += 1
        times["\(document.id) \(revision.id)"] = count
        let parent = revision.parent.flatMap(document.revision)
        let isOnlyTagged = revision.author != .user && parent.map { Scenario.isTagged(revision, after: $0) } == true
        if !isOnlyTagged { lastChanges[document.id] = count }
        sizes.note(document, at: count)
        if Scenario.needsSpreading(revision), let color = revision.body["color"] {
            colors[document.id, default: []].insert(color)
        }
    }

    /// An item gets a color that its list had, and nothing else changes.
    ///
    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    func checkItem(_ document: StoredDocument, _ revision: StoredRevision, replacing parent: StoredRevision) throws {
        let list = parent.body["in"].map { String($0.dropFirst().dropLast()) } ?? ""
        let isSpread = revision.body["color"].map { colors[list]?.contains($0) == true } ?? false
        let before = parent.body.members.filter { $0.name != "color" }
        guard !revision.isDeleted, isSpread, revision.body["color"] != parent.body["color"],
            revision.body.members.map(\.name) == parent.body.members.map(\.name),
            revision.body.members.filter({ $0.name != "color" }) == before
        else {
            throw Violation(
                guarantee: .bytes,
                detail: "\(document.id) \(parent.id.short) \(parent.body.text) became \(revision.body.text)")
        }
        try AttachmentCheck.check(document.id, revision, parent, adding: nil)
        try sizes.checkItem(document, of: list, color: revision.body["color"])
    }

    /// Whether a list with this revision may have had too many items.
    func mayBeTooLong(_ list: String, _ revision: StoredRevision) -> Bool {
        !Scenario.needsSpreading(revision) || times["\(list) \(revision.id)"].map { $0 < reset } != false
            || sizes.mayBeTooLong(list, revision.id)
    }

    /// All items that were there before the list was changed have its color when it is marked.
    ///
    /// - Parameter parent: The revision of the list that the bot marks.
    /// - Throws: ``Violation``.
    func checkMark(_ list: StoredDocument, replacing parent: StoredRevision?, _ gateway: SimulatedGateway) throws {
        guard let parent, Scenario.needsSpreading(parent), let changed = times["\(list.id) \(parent.id)"],
            changed > reset
        else { return }
        for item in Scenario.items(of: list.id, gateway) {
            guard let last = lastChanges[item.id], last < changed, item.body?["color"] != parent.body["color"] else {
                continue
            }
            throw Violation(
                guarantee: .order,
                detail: "\(list.id) \(parent.id.short) \(parent.body.text) is marked, but \(item.id) is "
                    + (item.body?.text ?? ""))
        }
    }

    /// Whether the bot has given an item the color that it has.
    private func writesColor(_ item: StoredDocument, _ revision: StoredRevision) -> Bool {
        guard revision.author != .user, let parent = revision.parent.flatMap(item.revision) else {
            return revision.author != .user
        }
        return !Scenario.isTagged(revision, after: parent) || writesColor(item, parent)
    }

    /// At a quiet moment: an item that the bot has changed last has the color of its list.
    ///
    /// - Throws: ``Violation``.
    func checkAtQuietMoment(_ gateway: SimulatedGateway) throws {
        for id in Scenario.lists {
            guard let list = gateway.documents[id], list.leaves.count == 1, let mark = list.winner, !mark.isDeleted,
                mark.author != .user, mark.body["spread"] == "true", let color = mark.body["color"]
            else { continue }
            // A write that was under way when the database was replaced.
            let known = Set(list.revisions.compactMap { $0.body["color"] })
            for item in Scenario.items(of: id, gateway) where item.leaves.count == 1 {
                guard let winner = item.winner, writesColor(item, winner), let found = winner.body["color"],
                    found != color, gateway.replacements == 0 || known.contains(found)
                else { continue }
                throw Violation(
                    guarantee: .edits,
                    detail: "\(item.id) has the color \(found) of an older revision of \(id), which has \(color)")
            }
        }
    }
}
