internal import Encodings
package import GatewayClient
package import LosslessJSON
package import Rules

/// The id and the history of a revision that settles a conflict between the leaves of two servers.
///
/// The first half of its digest depends on the two leaves, the second half on its content. A later run therefore
/// recognizes a settled conflict, regardless of later changes. Its generation is higher than those of both leaves, so
/// it can be stored after either of them, and wins.
package enum SettlingRevision {
    private static let half = 16

    /// A new revision after the target's leaf.
    package static func of(_ conflict: LeafPair, content: [UInt8]) -> NewRevision {
        let generation = max(conflict.ours.generation, conflict.theirs.generation) + 1
        let digest =
            prefix(conflict.ours.revision, conflict.theirs.revision) + Digest.md5.hex(content).prefix(half)
        let id = RevisionID("\(generation)-\(digest)")
        return NewRevision(id, history: history(of: id, after: conflict.theirs) ?? conflict.theirs.document)
    }

    /// The result does not depend on the order of the leaves.
    private static func prefix(_ leaves: String...) -> String {
        String(Digest.md5.hex(Array(leaves.sorted().joined(separator: "\0").utf8)).prefix(half))
    }

    /// Whether a leaf descends from a revision that settled the conflict between its branch and the leaf `other`.
    package static func hasSettled(_ other: String, in leaf: ConflictLeaf) -> Bool {
        settlement(of: other, in: leaf) != nil
    }

    /// The newest settling revision, as an index in the leaf's history.
    static func settlement(of other: String, in leaf: ConflictLeaf) -> Int? {
        let prefixes = Set(leaf.history.map { prefix(other, $0) })
        return leaf.history.firstIndex { prefixes.contains(String(digest(of: $0).prefix(half))) }
    }

    /// `_revisions` of a revision after a leaf. The generations between the two get placeholders, which no server has.
    ///
    /// - Returns: Nil if its generation is not higher.
    package static func history(of id: RevisionID, after leaf: ConflictLeaf) -> JSONText? {
        guard let generation = id.generation, generation > leaf.generation else { return nil }
        let intermediate = (leaf.generation + 1..<generation).reversed().map { placeholder(after: leaf.revision, $0) }
        return NewRevision.history([digest(of: id.text)] + intermediate + leaf.history.map(digest), start: generation)
    }

    private static func digest(of revision: String) -> String { String(revision.drop { $0 != "-" }.dropFirst()) }
}

extension SettlingRevision {
    /// The digest of a placeholder, for a generation without a real revision.
    private static func placeholder(after revision: String, _ generation: Int) -> String {
        Digest.md5.hex(Array("\(revision) \(generation)".utf8))
    }

    /// The placeholders in a history, which are neither edits nor deletions.
    ///
    /// - Parameter history: The newest revision comes first.
    static func placeholders(in history: [String]) -> Set<String> {
        var found: Set<String> = []
        var last = history.last
        for revision in history.reversed().dropFirst() {
            let generation = RevisionID(revision).generation ?? 0
            if let last, revision == "\(generation)-\(placeholder(after: last, generation))" {
                found.insert(revision)
            } else {
                last = revision
            }
        }
        return found
    }
}

/// A leaf of the source that the target refuses, and the leaf that the target has.
package struct LeafPair {
    package let ours: ConflictLeaf
    package let theirs: ConflictLeaf

    package init(ours: ConflictLeaf, theirs: ConflictLeaf) {
        self.ours = ours
        self.theirs = theirs
    }

    package var conflict: Conflict { Conflict([ours, theirs]) }

    /// The common history of the leaves, by which they are compared.
    package var commonHistory: CommonHistory { CommonHistory(self) }
}

/// The common history of the two leaves of a conflict.
///
/// A leaf that descends from the settlement of an earlier conflict also contains the changes of the other branch up to
/// the settled leaf. That settled leaf is then their common ancestor. An edit during a settlement is therefore not
/// mistaken for a change of the settled content.
package struct CommonHistory {
    /// The maximum number of revisions of a leaf that are inspected.
    private static let maxInspected = 20

    /// The leaves with the histories used for the comparison.
    package let pair: LeafPair
    /// The newest common ancestor.
    package let ancestor: String?
    private let real: LeafPair
    /// The revision that settled an earlier conflict.
    private var settlement: String?

    init(_ real: LeafPair) {
        var pair = real
        if let (leaf, settlement) = Self.joined(real.theirs, to: real.ours) {
            pair = LeafPair(ours: real.ours, theirs: leaf)
            self.settlement = settlement
        } else if let (leaf, settlement) = Self.joined(real.ours, to: real.theirs) {
            pair = LeafPair(ours: leaf, theirs: real.theirs)
            self.settlement = settlement
        }
        let others = Set(pair.theirs.history)
        ancestor = pair.ours.history.first(where: others.contains)
        self.pair = pair
        self.real = real
    }

    /// A leaf with the other leaf's history appended, from the revision that it has settled.
    private static func joined(_ leaf: ConflictLeaf, to other: ConflictLeaf) -> (ConflictLeaf, settlement: String)? {
        for (age, revision) in other.history.prefix(maxInspected).enumerated() {
            guard let index = SettlingRevision.settlement(of: revision, in: leaf) else { continue }
            let history = leaf.history[1...].prefix(index) + other.history[age...]
            let joined = ConflictLeaf(leaf.document, revision: leaf.revision, after: Array(history))
            return (joined, leaf.history[index])
        }
        return nil
    }

    /// The leaves in a comparable form: servers of different kinds name the same attachment differently. An attachment
    /// older than the common ancestor gets the ancestor's name.
    ///
    /// - Parameter document: The common ancestor.
    package func comparable(by document: JSONText?) -> Conflict {
        guard let document, let entries = document.root["_attachments"], let ancestor else {
            return Conflict([pair.ours, pair.theirs])
        }
        func renamed(_ leaf: ConflictLeaf, isOlder: (Int) -> Bool) -> ConflictLeaf {
            var text = leaf.document
            for stub in AttachmentStub.all(of: leaf.document.root) {
                let name = stub.name
                guard let own = leaf.document.root["_attachments"]?[name], let position = own["revpos"]?.integer,
                    let entry = entries[name]
                else { continue }
                // CouchDB writes 0 if a replicated revision did not specify it.
                let isAlike =
                    position == 0 && own["length"]?.integer == entry["length"]?.integer
                    && own["content_type"]?.string == entry["content_type"]?.string
                guard isOlder(position) || isAlike else { continue }
                let place = JSONPointer(tokens: ["_attachments", name])
                text = (try? text.setting(place, to: entry.bytes)) ?? text
            }
            return ConflictLeaf(text, revision: leaf.revision, after: Array(leaf.history.dropFirst()))
        }
        let generation = RevisionID(ancestor).generation ?? 0
        let settled = settlement.flatMap { RevisionID($0).generation }
        let leaves = [(pair.ours, real.ours), (pair.theirs, real.theirs)].map { leaf, real in
            renamed(leaf) { position in
                // Attachments of a settlement came from the other end.
                real.history.contains(ancestor) ? 1...max(1, generation) ~= position : position == settled
            }
        }
        return Conflict(leaves)
    }
}
