package import DocumentFlow
package import GatewayClient
package import LosslessJSON
package import Rules

extension GatewayContact {
    /// The leaves of a document, without their histories; empty if the document does not exist.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    package func leaves(of id: DocumentID, at gateway: Gateway) async throws -> [JSONText] {
        let leaves = try await ask {
            do throws(GatewayError) { return try await gateway.openRevisions(of: id) } catch {
                guard error.code == .notFound else { throw error }
                return []
            }
        }
        return leaves.compactMap { leaf in if case .found(let document) = leaf { document } else { nil } }
    }

    /// The leaf that a gateway returns, with its history; a tombstone if all leaves are deleted. Nil if the document
    /// does not exist.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    /// - Note: Sync Gateway's `_all_docs` does not distinguish a deleted document from one that never existed.
    package func winningLeaf(of id: DocumentID, at gateway: Gateway) async throws -> ConflictLeaf? {
        let found = try await leaves(of: id, at: gateway).compactMap { document in
            document.root["_rev"]?.string.map { ConflictLeaf(document, revision: $0, after: []) }
        }
        let conflict = Conflict(found)
        guard let winner = conflict.leaves.first ?? conflict.tombstones.first else { return nil }
        let text = try await ask {
            try await gateway.document(id, revision: RevisionID(winner.revision), with: .history)
        }
        return text.flatMap { ConflictLeaf($0) }
    }
}
