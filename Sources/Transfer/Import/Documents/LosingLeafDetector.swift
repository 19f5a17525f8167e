internal import GatewayClient
internal import LosslessJSON

/// Finds the lines of `export --revisions` that are losing leaves of the document on the previous line. An import of
/// contents skips them: written in order, the last leaf would replace the document or delete it.
///
/// - Note: Source: CouchDB 3.5, `couch_doc:to_doc_info`: a live leaf wins over a tombstone, then the higher generation
///   wins, then the higher revision id. Sync Gateway decides in the same way (`RevTree.winningRevision`).
struct LosingLeafDetector {
    private struct Leaf {
        let id: String
        let revision: RevisionID
        let isDeleted: Bool

        func wins(over other: Leaf) -> Bool {
            if isDeleted != other.isDeleted { return !isDeleted }
            let (own, others) = (revision.generation ?? 0, other.revision.generation ?? 0)
            if own != others { return own > others }
            return other.revision.text.utf8.lexicographicallyPrecedes(revision.text.utf8)
        }
    }

    /// The leaf that wins among the lines of one document so far.
    private var winner: Leaf?

    /// Whether the next document of the input is a losing leaf. Call for each document, in input order.
    mutating func isLosingLeaf(_ document: JSONValue) -> Bool {
        guard let history = document["_revisions"], let id = document["_id"]?.string,
            let revision = document["_rev"]?.string
        else {
            winner = nil
            return false
        }
        let leaf = Leaf(id: id, revision: RevisionID(revision), isDeleted: document["_deleted"]?.bool == true)
        guard let winner, document["_id"]?.isString(winner.id) == true, !Self.includes(winner.revision, history),
            winner.wins(over: leaf)
        else {
            self.winner = leaf
            return false
        }
        return true
    }

    /// Whether a history contains the revision. If so, it is no longer a leaf: the document changed during the export.
    private static func includes(_ revision: RevisionID, _ history: JSONValue) -> Bool {
        let digest = revision.text.drop { $0 != "-" }.dropFirst()
        return history["ids"]?.elements.contains { $0.isString(String(digest)) } ?? false
    }
}
