/// A document in the simulated gateway, with all its revisions.
struct StoredDocument {
    let id: String
    /// In the order of their arrival.
    private(set) var revisions: [StoredRevision] = []
    /// Revisions whose bodies are gone.
    private(set) var compacted: Set<String> = []
    /// The position of its newest change in the feed.
    var sequence = 0

    init(id: String) { self.id = id }

    /// Revisions without a child.
    var leaves: [StoredRevision] {
        let parents = Set(revisions.compactMap(\.parent))
        return revisions.filter { !parents.contains($0.id) }.sorted(by: StoredRevision.wins)
    }

    var winner: StoredRevision? { leaves.first }

    /// The revision at which two others branched; nil if they have none.
    func commonAncestor(_ left: StoredRevision, _ right: StoredRevision) -> StoredRevision? {
        let others = Set(history(of: left).map(\.id))
        return history(of: right).first { others.contains($0.id) }
    }

    /// A revision, and those before it.
    private func history(of revision: StoredRevision) -> [StoredRevision] {
        var history = [revision]
        while let parent = history.last?.parent.flatMap(self.revision) { history.append(parent) }
        return history
    }

    /// The body of the winner; nil for a deleted document.
    var body: DocumentBody? { winner.flatMap { $0.isDeleted ? nil : $0.body } }

    func revision(_ id: String) -> StoredRevision? { revisions.first { $0.id == id } }

    /// What a write with this `_rev` replaces.
    enum Parent {
        case none
        case revision(StoredRevision)
    }

    /// Nil for a conflict.
    func parent(ofWriteWith revision: String?) -> Parent? {
        guard let winner else { return revision == nil ? Parent.none : nil }
        // A deleted document may be written without its revision.
        guard let revision else { return winner.isDeleted ? .revision(winner) : nil }
        return leaves.first { $0.id == revision }.map { .revision($0) }
    }

    /// Only leaves keep their bodies.
    ///
    /// - Returns: How many revisions have lost them.
    mutating func compact(losingLeavesToo: Bool) -> Int {
        let kept = leaves.prefix(losingLeavesToo ? 1 : .max)
        let old = Set(revisions.map(\.id)).subtracting(kept.map(\.id)).subtracting(compacted)
        compacted.formUnion(old)
        return old.count
    }

    mutating func append(_ revision: StoredRevision) { revisions.append(revision) }
}
