package import GatewayClient
internal import LosslessJSON
package import Rules

/// A document in conflict, and what becomes of it.
package struct ConflictCase: Sendable {
    package let id: DocumentID
    let conflict: Conflict
    let policies: ConflictPolicies
    let policy: ConflictPolicy
    var resolution = ConflictResolution.setAside(reason: "")

    /// Nil if there is no policy for the document.
    package init?(_ id: DocumentID, _ conflict: Conflict, _ policies: ConflictPolicies) {
        guard let policy = policies.policy(of: conflict) else { return nil }
        self.id = id
        self.conflict = conflict
        self.policies = policies
        self.policy = policy
    }

    var decision: ConflictDecision { ConflictDecision(conflict: conflict, policy: policy) }

    /// Whether the policy has anything to decide: one leaf is a conflict only with a deletion that may win.
    var isConflict: Bool { conflict.leaves.count > 1 || policy == .deletesWin && !conflict.deletions.isEmpty }

    /// Whether a leaf stays, and which.
    var kept: Int? {
        if case .keep(let leaf) = resolution { leaf } else { nil }
    }

    /// Whether it is no conflict after all.
    var isSettled: Bool { kept != nil && losers.isEmpty }

    /// The deletions of the leaves that lost.
    var tombstones: [PreparedRevision] {
        var reason = NewRevision.lost
        if case .delete = resolution { reason = "decided" }
        return losers.compactMap { NewRevision.tombstone(of: $0, id, because: reason) }
    }

    /// The leaves to delete.
    var losers: [ConflictLeaf] {
        switch resolution {
        case .keep(let kept): conflict.leaves.enumerated().filter { $0.offset != kept }.map(\.element)
        case .write: Array(conflict.leaves.dropFirst())
        // A deletion that has won is not to win again over a document that is created anew.
        case .delete: conflict.leaves + conflict.deletions.map(\.tombstone)
        case .setAside: []
        }
    }
}
