internal import DocumentFlow
package import GatewayClient
package import Logging
internal import LosslessJSON
package import Rules

/// A document in conflict, and its resolution.
package struct ConflictCase: Sendable {
    package let id: DocumentID
    private(set) var decision: ConflictDecision
    package private(set) var resolution = ConflictResolution.leave(reason: "")

    /// Nil if there is no policy for the document.
    package init?(_ id: DocumentID, _ conflict: Conflict, _ policies: ConflictPolicies) {
        guard let decision = ConflictDecision(conflict, by: policies) else { return nil }
        self.id = id
        self.decision = decision
    }

    package var conflict: Conflict { decision.conflict }
    package var policy: ConflictPolicy { decision.policy }
    var byteCount: Int { conflict.byteCount }

    /// Whether the policy has anything to decide. A single leaf is in conflict only with a deletion that may win.
    package var isConflict: Bool { conflict.leaves.count > 1 || policy == .deletesWin && !conflict.deletions.isEmpty }

    /// Whether there is no conflict after all.
    package var isSettled: Bool {
        if case .keep = resolution { losers.isEmpty } else { false }
    }

    /// The leaves to delete.
    package var losers: [ConflictLeaf] {
        switch resolution {
        case .keep, .write: Array(conflict.leaves.dropFirst())
        // A deletion that has won must not win again over a document that is created again.
        case .delete: conflict.leaves + conflict.deletions.map(\.tombstone)
        case .leave: []
        }
    }

    /// - Parameter digests: See ``Conflict/equalDigests``.
    mutating func note(equalDigests digests: [String: String]) { decision.conflict.equalDigests = digests }

    /// Decides: a leaf is kept only if it is the winner. Any other choice becomes a new revision, see
    /// ``ConflictWriter``.
    ///
    /// - Parameter known: See ``ConflictDecision/resolution(knowing:)``.
    mutating func resolve(knowing known: [String: JSONText]) async {
        resolution = await decision.resolution(knowing: known)
        guard case .keep(let leaf) = resolution, leaf > 0 else { return }
        resolution =
            ResolvedDocument(leaf: leaf, of: conflict).map { .write($0) }
            ?? .leave(reason: "its leaves can't be merged into one document")
    }
}

extension ConflictCase {
    package func logResolution(to logger: Logger) {
        logger.debug(
            "resolved a conflict",
            metadata: [
                LogKey.id: "\(id)", LogKey.policy: "\(policy.name)", LogKey.leaves: "\(conflict.leaves.count)",
            ])
    }
}
