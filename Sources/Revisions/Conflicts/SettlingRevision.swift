internal import Encodings
package import GatewayClient
package import LosslessJSON
package import Rules

/// The id and the history of a revision that settles a conflict between the leaves of two servers.
///
/// The first half of its digest depends on the two leaves, the second one on its content: so a later run recognises a
/// conflict that is settled, whatever became of the document since. Its generation is higher than those of both leaves:
/// so it can be stored after either of them, and wins.
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

    /// The same whichever is refused by the other one's server.
    private static func prefix(_ leaves: String...) -> String {
        String(Digest.md5.hex(Array(leaves.sorted().joined(separator: "\0").utf8)).prefix(half))
    }

    /// Whether a leaf comes from a revision that settled the conflict of its branch with the leaf `other`.
    package static func hasSettled(_ other: String, in leaf: ConflictLeaf) -> Bool {
        settlement(of: other, in: leaf) != nil
    }

    /// The newest such revision, as an index in the leaf's history.
    static func settlement(of other: String, in leaf: ConflictLeaf) -> Int? {
        let prefixes = Set(leaf.history.map { prefix(other, $0) })
        return leaf.history.firstIndex { prefixes.contains(String(digest(of: $0).prefix(half))) }
    }

    /// `_revisions` of a revision after a leaf. For generations between the two, revisions are named that no server has.
    ///
    /// - Returns: Nil if its generation is not higher.
    package static func history(of id: RevisionID, after leaf: ConflictLeaf) -> JSONText? {
        guard let generation = id.generation, generation > leaf.generation else { return nil }
        let between = (leaf.generation + 1..<generation).reversed().map { placeholder(after: leaf.revision, $0) }
        return NewRevision.history([digest(of: id.text)] + between + leaf.history.map(digest), start: generation)
    }

    private static func digest(of revision: String) -> String { String(revision.drop { $0 != "-" }.dropFirst()) }
}

extension SettlingRevision {
    /// The digest of a revision that stands for nothing, where a history needs one of this generation.
    private static func placeholder(after revision: String, _ generation: Int) -> String {
        Digest.md5.hex(Array("\(revision) \(generation)".utf8))
    }

    /// Those revisions of a history that stand for nothing: no edit, and no deletion.
    ///
    /// - Parameter history: The newest first.
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

    /// What the leaves are compared by, and what is left to be known of them.
    package var lineage: Lineage { Lineage(self) }
}

/// From where the two leaves of a conflict come.
///
/// One that comes from the settlement of an earlier conflict also has the changes of the other leaf's ancestor that was
/// settled: that one is then the revision from which both come. So an edit that came during a settlement is not taken for
/// a change to what the settlement took over.
package struct Lineage {
    /// The most revisions of a leaf that are looked at.
    private static let reach = 20

    /// With the histories that count here.
    package let pair: LeafPair
    /// The newest revision from which both come.
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

    /// A leaf with the history of the other one, from the revision on that it has settled.
    private static func joined(_ leaf: ConflictLeaf, to other: ConflictLeaf) -> (ConflictLeaf, settlement: String)? {
        for (age, revision) in other.history.prefix(reach).enumerated() {
            guard let index = SettlingRevision.settlement(of: revision, in: leaf) else { continue }
            let history = leaf.history[1...].prefix(index) + other.history[age...]
            let joined = ConflictLeaf(leaf.document, revision: leaf.revision, after: Array(history))
            return (joined, leaf.history[index])
        }
        return nil
    }

    /// The leaves as they can be compared: servers of two kinds name the same attachment differently. One that is older
    /// than the revision from which both leaves come is named as there.
    ///
    /// - Parameter document: That revision.
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
                // CouchDB writes 0 if a replicated revision did not say it.
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
                // What a settlement brought came from the other side.
                real.history.contains(ancestor) ? 1...max(1, generation) ~= position : position == settled
            }
        }
        return Conflict(leaves)
    }
}
