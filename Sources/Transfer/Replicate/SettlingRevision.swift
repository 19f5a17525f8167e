internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// The id and the history of a revision that settles a conflict between the leaves of two servers.
///
/// The first half of its digest depends on the two leaves, the second one on its content: so a later run recognises a
/// conflict that is settled, whatever became of the document since. Its generation is higher than those of both leaves:
/// so it can be stored after either of them, and wins.
enum SettlingRevision {
    private static let half = 16

    /// A new revision after the target's leaf.
    static func of(_ conflict: LeafPair, content: [UInt8]) -> NewRevision {
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
    static func hasSettled(_ other: String, in leaf: ConflictLeaf) -> Bool {
        let prefixes = Set(leaf.history.map { prefix(other, $0) })
        return leaf.history.contains { prefixes.contains(String($0.drop { $0 != "-" }.dropFirst().prefix(half))) }
    }

    /// `_revisions` of a revision after a leaf. For generations between the two, revisions are named that no server has.
    ///
    /// - Returns: Nil if its generation is not higher.
    static func history(of id: RevisionID, after leaf: ConflictLeaf) -> JSONText? {
        guard let generation = id.generation, generation > leaf.generation else { return nil }
        var history = JSONWriter()
        history.object { history in
            history.member("start", integer: generation)
            history.name("ids")
            history.array { history in
                history.string(String(id.text.drop { $0 != "-" }.dropFirst()))
                for between in (leaf.generation + 1..<generation).reversed() {
                    history.string(Digest.md5.hex(Array("\(leaf.revision) \(between)".utf8)))
                }
                for old in leaf.history { history.string(String(old.drop { $0 != "-" }.dropFirst())) }
            }
        }
        return try? JSONText(history.bytes)
    }
}

/// A leaf of the source that the target refuses, and the leaf that the target has.
struct LeafPair {
    let ours: ConflictLeaf
    let theirs: ConflictLeaf

    var conflict: Conflict { Conflict([ours, theirs]) }

    /// The newest revision from which both come.
    var ancestor: String? {
        let others = Set(theirs.history)
        return ours.history.first(where: others.contains)
    }

    /// The same leaves, as they can be compared: servers of two kinds name the same attachment differently. One that
    /// is older than the revision from which both leaves come is named as there.
    ///
    /// - Parameter document: That revision.
    func comparable(by document: JSONText?) -> LeafPair {
        guard let document, let entries = document.root["_attachments"], let ancestor else { return self }
        let generation = RevisionID(ancestor).generation ?? 0
        func renamed(_ leaf: ConflictLeaf) -> ConflictLeaf {
            var text = leaf.document
            for stub in AttachmentStub.all(of: leaf.document.root) {
                let name = stub.name
                guard let position = leaf.document.root["_attachments"]?[name]?["revpos"]?.integer,
                    position > 0, position <= generation, let entry = entries[name]
                else { continue }
                let place = JSONPointer(tokens: ["_attachments", name])
                text = (try? text.setting(place, to: entry.bytes)) ?? text
            }
            return ConflictLeaf(text) ?? leaf
        }
        return LeafPair(ours: renamed(ours), theirs: renamed(theirs))
    }
}
