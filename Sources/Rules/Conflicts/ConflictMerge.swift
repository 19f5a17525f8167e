internal import LosslessJSON

/// Merges the leaves of a document, member by member.
///
/// Branches are merged at the revision where they split, youngest split first. That revision is their common ancestor.
/// - A member that one branch changed since the ancestor is taken from that branch.
/// - If several branches changed a member to different values, objects are merged recursively. Any other value is taken
///   from the branch with the latest update.
/// - If the server no longer has the ancestor, members that only some branches have are kept. A value in which they
///   differ is decided by the dates of the leaves or not at all, because only one branch may have changed it.
///
/// Arrays are indivisible values, and so are objects nested more than a hundred levels deep. Values keep their bytes.
struct ConflictMerge {
    /// A leaf, or the merged result of several leaves.
    private struct Branch {
        let document: JSONText
        let attachments: [LeafAttachment]
        /// From the leaf, or from the revision where its leaves split, newest first.
        let history: ArraySlice<String>
        /// If several branches changed a value differently, the lowest rank wins.
        let rank: Int
    }

    private let leaves: [ConflictLeaf]
    private let equalDigests: [String: String]
    private let ancestors: [String: JSONText]
    private let order: [Int]
    private let isOrderedByDate: Bool

    /// - Parameters:
    ///   - conflict: Without duplicate members.
    ///   - ancestors: The documents of ``Conflict/branchings`` that the server still has.
    ///   - order: The leaves as indexes, by priority if several changed a value differently.
    ///   - isOrderedByDate: Whether each leaf has a distinct date.
    init(_ conflict: Conflict, ancestors: [String: JSONText], order: [Int], isOrderedByDate: Bool) {
        leaves = conflict.leaves
        equalDigests = conflict.equalDigests
        self.ancestors = ancestors
        self.order = order
        self.isOrderedByDate = isOrderedByDate
    }

    /// - Throws: `JSONError` if the result is larger than a document may be; ``ValueMerge/Undecidable``.
    func merge() throws -> ResolvedDocument {
        var branches = leaves.enumerated().map { index, leaf in
            Branch(
                document: leaf.document, attachments: attachments(of: leaf.document.root, leaf: index),
                history: leaf.history[...], rank: order.firstIndex(of: index) ?? index)
        }
        while branches.count > 1 {
            let point = Conflict.youngestBranching(branches.map(\.history))
            // Without a common revision, the branches are merged without an ancestor.
            let isOwn = branches.map { branch in point.map(branch.history.contains) ?? true }
            let own = zip(branches, isOwn).filter(\.1).map(\.0)
            let place = isOwn.firstIndex(of: true) ?? 0
            branches[place] = try merge(own, at: point)
            branches = branches.indices.filter { $0 == place || !isOwn[$0] }.map { branches[$0] }
        }
        let members = try ValueMerge(order: [0], ancestry: .none)
            .members(of: [branches[0].document.root], nil, skipsReserved: true)
        return ResolvedDocument(
            members: try JSONText(members), attachments: branches[0].attachments.map { ($0.name, $0.leaf) })
    }

    private func merge(_ branches: [Branch], at point: String?) throws -> Branch {
        let ancestor = point.flatMap { ancestors[$0] }?.root
        let merge = ValueMerge(
            order: branches.indices.sorted { branches[$0].rank < branches[$1].rank },
            ancestry: ancestor == nil ? ancestry(of: branches, point) : .known, decidesWithoutAncestor: isOrderedByDate)
        let members = try merge.members(of: branches.map(\.document.root), ancestor, skipsReserved: true)
        let history = branches[0].history
        return Branch(
            document: try JSONText(members),
            attachments: try attachments(of: branches, attachments(of: ancestor, leaf: 0), merge),
            history: point.flatMap(history.firstIndex).map { history[$0...] } ?? [],
            rank: branches.map(\.rank).min() ?? 0)
    }

    /// For branches without an available ancestor. A history that reaches the first revision proves that there was
    /// none.
    private func ancestry(of branches: [Branch], _ point: String?) -> ValueMerge.Ancestry {
        let oldest = branches.map { ConflictLeaf.generation(of: $0.history.last ?? "") }.filter { $0 > 0 }
        let mayBeRelated = oldest.count > 1 && oldest.contains { $0 > 1 }
        return point != nil || mayBeRelated ? .lost : .none
    }

    private func attachments(of document: JSONValue?, leaf: Int) -> [LeafAttachment] {
        LeafAttachment.all(of: document, leaf: leaf, equalDigests)
    }

    /// An attachment is merged like other values: its digest and its type.
    ///
    /// - Throws: ``ValueMerge/Undecidable``.
    private func attachments(
        of branches: [Branch], _ ancestor: [LeafAttachment], _ merge: ValueMerge
    ) throws -> [LeafAttachment] {
        var names: [String] = []
        for branch in branches {
            names += branch.attachments.map(\.name).filter { name in !names.contains { $0.isSame(as: name) } }
        }
        return try names.compactMap { name in
            let values = branches.map { $0.attachments.first { $0.name.isSame(as: name) } }
            let choice = merge.choice(values, ancestor.first { $0.name.isSame(as: name) }) { $0.content == $1.content }
            try merge.requireDecision(choice, on: name)
            guard let taken = values[choice.taken ?? 0] else { return nil }
            // If they are equal, takes the first branch's: the winner's bytes need not be sent again.
            return values.compactMap { $0 }.first { $0.content == taken.content }
        }
    }
}

/// An attachment of a leaf.
struct LeafAttachment {
    let name: String
    /// The digest and the type.
    let content: [String?]
    /// An index in ``Conflict/leaves``.
    let leaf: Int

    /// - Parameter equalDigests: As ``Conflict/equalDigests``.
    static func all(of document: JSONValue?, leaf: Int, _ equalDigests: [String: String] = [:]) -> [LeafAttachment] {
        document?["_attachments"]?.members.compactMap { member in
            member.name.string.map { name in
                let digest = member.value["digest"]?.string
                return LeafAttachment(
                    name: name,
                    content: [digest.map { equalDigests[$0] ?? $0 }, member.value["content_type"]?.string], leaf: leaf)
            }
        } ?? []
    }
}

extension ResolvedDocument {
    /// Whether a leaf already equals this document.
    package func isEqual(to leaf: ConflictLeaf, of conflict: Conflict) -> Bool {
        let own = leaf.document.root.members.filter { $0.name.characters.first != UInt8(ascii: "_") }
        guard own.count == members.root.childCount,
            own.allSatisfy({ member in
                member.name.utf8.flatMap(members.root.member)?.isEquivalent(to: member.value) == true
            })
        else { return false }
        let present = LeafAttachment.all(of: leaf.document.root, leaf: 0, conflict.equalDigests)
        let wanted = attachments.compactMap { attachment in
            LeafAttachment.all(
                of: conflict.leaves[attachment.leaf].document.root, leaf: 0, conflict.equalDigests
            )
            .first { $0.name.isSame(as: attachment.name) }
        }
        return wanted.count == present.count
            && wanted.allSatisfy { one in
                present.contains { $0.name.isSame(as: one.name) && $0.content == one.content }
            }
    }
}
