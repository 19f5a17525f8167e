/// Checks that other documents are written only for the current revision of the document that leads to them.
///
/// The bot looks that document up after it has read what it is going to write.
struct DecisionCheck {
    private struct Lookup: Hashable {
        let process: StoredRevision.Author
        let id: String
    }

    /// What each process has last seen of a document.
    private var seen: [Lookup: StoredRevision?] = [:]

    mutating func noteLookup(_ id: String, _ found: StoredRevision?, by process: StoredRevision.Author) {
        seen[Lookup(process: process, id: id)] = .some(found)
    }

    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    func checkWrite(_ document: StoredDocument, _ revision: StoredRevision, replacing parent: StoredRevision?) throws {
        if let (parcel, index) = Scenario.parcel(of: document.id) {
            try check(document, revision, ledBy: parcel) { Scenario.boxes(neededBy: $0) > index }
        } else if let parent, !parent.isDeleted, Scenario.isItem(parent.body),
            !Scenario.isTagged(revision, after: parent)
        {
            let list = parent.body["in"].map { String($0.dropFirst().dropLast()) } ?? ""
            try check(document, revision, ledBy: list) {
                Scenario.needsSpreading($0) && $0.body["color"] == revision.body["color"]
            }
        }
    }

    private func check(
        _ document: StoredDocument, _ revision: StoredRevision, ledBy id: String, _ isRight: (StoredRevision) -> Bool
    ) throws {
        guard let found = seen[Lookup(process: revision.author, id: id)], found.map(isRight) != true else { return }
        throw Violation(
            guarantee: .outdated,
            detail: "\(document.id) became \(revision.body.text), but the bot has seen \(id) "
                + (found.map { "\($0.id.short) \($0.body.text)" } ?? "missing"))
    }
}
