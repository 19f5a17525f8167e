package import LosslessJSON

/// A leaf revision of a document in conflict, with its history.
package struct ConflictLeaf: Sendable {
    /// The document as the gateway sent it, with `_rev` and `_revisions`.
    package let document: JSONText
    package let revision: String
    /// The revision ids from newest to oldest, beginning with ``revision``.
    package let history: [String]

    package var isDeleted: Bool { document.root["_deleted"]?.bool == true }

    /// Nil if the document has no `_rev` or no `_revisions`.
    package init?(_ document: JSONText) {
        guard let revision = document.root["_rev"]?.string, let revisions = document.root["_revisions"],
            let start = revisions["start"]?.integer, let digests = revisions["ids"]?.elements.map(\.string)
        else { return nil }
        self.document = document
        self.revision = revision
        history = digests.enumerated().map { "\(start - $0)-\($1 ?? "")" }
        guard history.first == revision else { return nil }
    }

    /// A version of a document that is not yet a revision on the server.
    ///
    /// - Parameters:
    ///   - revision: An id that distinguishes it from the other leaves.
    ///   - history: The revisions that it descends from, newest first, without its own.
    package init(_ document: JSONText, revision: String, after history: [String]) {
        self.document = document
        self.revision = revision
        self.history = [revision] + history
    }

    /// Whether it wins over another leaf; neither is deleted.
    func wins(over other: ConflictLeaf) -> Bool {
        guard generation == other.generation else { return generation > other.generation }
        return other.revision.utf8.lexicographicallyPrecedes(revision.utf8)
    }

    package var generation: Int { Self.generation(of: revision) }

    /// The number of edits that led to a revision.
    static func generation(of revision: String) -> Int { Int(revision.prefix { $0 != "-" }) ?? 0 }

    /// The previous revision. Nil for the first revision, or if the server no longer knows the previous one.
    package var parent: String? { history.count > 1 ? history[1] : nil }
}

/// A document with its leaf revisions.
package struct Conflict: Sendable {
    /// The leaves that are not deleted, the winner first.
    package let leaves: [ConflictLeaf]
    /// The deleted leaves.
    package let tombstones: [ConflictLeaf]
    /// Digests of attachments with the same bytes, each with the one that represents them all: CouchDB's digests are of
    /// compressed bytes.
    package var equalDigests: [String: String] = [:]

    /// - Parameter leaves: In any order. The winner has the highest generation; in a tie, the greatest digest.
    /// - Note: Source: "Replication and conflict model" in the documentation of CouchDB 3.5.
    package init(_ leaves: [ConflictLeaf]) {
        self.init(ranked: leaves.sorted { $0.wins(over: $1) })
    }

    /// - Parameter leaves: The winner first.
    package init(ranked leaves: [ConflictLeaf]) {
        self.leaves = leaves.filter { !$0.isDeleted }
        tombstones = leaves.filter(\.isDeleted)
    }

    /// The size of all leaves.
    package var byteCount: Int { (leaves + tombstones).reduce(0) { $0 + $1.document.bytes.count } }

    /// The newest revision from which all leaves that are not deleted descend. Nil if the server no longer knows it.
    package var commonAncestor: String? { Self.commonAncestor(of: leaves) }

    /// The newest revision from which these leaves and the deletions in conflict with them descend. Nil if the server no
    /// longer knows it.
    package var commonAncestorWithDeletions: String? {
        let deletions = deletions.map(\.tombstone)
        return Self.commonAncestor(of: leaves + (deletions.isEmpty ? tombstones : deletions))
    }

    private static func commonAncestor(of leaves: [ConflictLeaf]) -> String? {
        guard let first = leaves.first else { return nil }
        let others = leaves.dropFirst().map { Set($0.history) }
        return first.history.first { revision in others.allSatisfy { $0.contains(revision) } }
    }

    /// The revisions at which the leaves that are not deleted branched.
    package var branchings: Set<String> {
        var found: Set<String> = []
        var histories = leaves.map { $0.history[...] }
        while let point = Self.youngestBranching(histories), let own = histories.first(where: { $0.contains(point) }),
            let start = own.firstIndex(of: point)
        {
            found.insert(point)
            histories.removeAll { $0.contains(point) }
            histories.append(own[start...])
        }
        return found
    }

    /// The newest revision that several of these histories contain. Nil if there is none.
    static func youngestBranching(_ histories: [ArraySlice<String>]) -> String? {
        var counts: [String: Int] = [:]
        for revision in histories.joined() { counts[revision, default: 0] += 1 }
        let shared = histories.compactMap { history in history.first { counts[$0] ?? 0 > 1 } }
        return shared.max { ConflictLeaf.generation(of: $0) < ConflictLeaf.generation(of: $1) }
    }

    /// Deletions of a revision that other leaves descend from.
    ///
    /// Excludes a branch that was edited and then deleted, because a branch that lost an earlier conflict looks the
    /// same.
    package var deletions: [Deletion] {
        tombstones.compactMap { tombstone in
            guard let parent = tombstone.parent else { return nil }
            let edits = leaves.compactMap { leaf in
                leaf.history.firstIndex(of: parent).map { Array(leaf.history[1..<max($0, 1)]) }
            }
            return edits.isEmpty ? nil : Deletion(tombstone: tombstone, between: Set(edits.joined()))
        }
    }

    /// A deletion of a revision that other leaves descend from.
    package struct Deletion: Sendable {
        package let tombstone: ConflictLeaf
        /// The revisions between the deleted one and the leaves that descend from it. If one of them is deleted, the
        /// document was created again, and this deletion is obsolete.
        package let between: Set<String>
    }
}
