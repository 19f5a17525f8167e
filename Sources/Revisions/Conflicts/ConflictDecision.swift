internal import Encodings
package import LosslessJSON
package import Rules

/// What a policy needs to know about a conflict, and its decision.
package struct ConflictDecision: Sendable {
    package var conflict: Conflict
    let policy: ConflictPolicy
    private let policies: ConflictPolicies

    /// Nil if there is no policy for the document.
    package init?(_ conflict: Conflict, by policies: ConflictPolicies) {
        guard let policy = policies.policy(of: conflict) else { return nil }
        self.conflict = conflict
        self.policy = policy
        self.policies = policies
    }

    /// The deletions that may win, with the edits made after the deleted revision.
    private var deletions: [(tombstone: ConflictLeaf, between: Set<String>)] {
        let deletions = conflict.deletions
        guard !deletions.isEmpty else { return [] }
        let placeholders = conflict.leaves.reduce(into: Set<String>()) { all, leaf in
            all.formUnion(SettlingRevision.placeholders(in: leaf.history))
        }
        return deletions.map { ($0.tombstone, $0.between.subtracting(placeholders)) }
    }

    /// Old revisions that the policy needs, if a server still has them.
    package var wanted: Set<String> {
        guard policy.needsAncestors else { return [] }
        return conflict.branchings.union(policy == .deletesWin ? deletions.flatMap(\.between) : [])
    }

    /// - Parameter known: The ``wanted`` revisions that a server still has.
    package func resolution(knowing known: [String: JSONText]) async -> ConflictResolution {
        var isDeleted = false
        if policy == .deletesWin {
            let deletions = deletions
            isDeleted = deletions.contains { deletion in
                deletion.between.allSatisfy { known[$0] != nil && known[$0]?.root["_deleted"]?.bool != true }
            }
            let isUncertain = deletions.contains { $0.between.contains { known[$0] == nil } }
            if !isDeleted, isUncertain {
                return .leave(
                    reason:
                        "it was deleted and edited, and the server no longer knows whether it was created again since")
            }
        }
        // Another deletion caused the conflict, or it does not win: there is no choice.
        if !isDeleted, conflict.leaves.count == 1, policy != .setAside { return .keep(0) }
        return await policies.resolve(
            conflict, by: policy, ancestors: known, isDeleted: isDeleted, now: Timestamp.secondsNow)
    }
}
