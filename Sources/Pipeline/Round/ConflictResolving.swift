package import DocumentFlow
package import GatewayClient
package import Rules

/// Reads the leaf revisions of documents, and makes one of them.
///
/// All functions throw `RunError`, `CancellationError`, and what a pause of the run throws.
package protocol ConflictResolving: Sendable {
    /// Reads the leaves of documents.
    ///
    /// - Returns: An entry for each document that is in conflict, or might be.
    func conflicts(among documents: [ListedLeaves]) async throws -> [DocumentID: FoundLeaves]

    /// Writes what the policies decide.
    ///
    /// May be repeated: what was resolved is no conflict any more, and what was resolved in part is resolved to the same
    /// end.
    func resolve(_ documents: [ConflictingDocument]) async throws -> ResolvedConflicts
}

/// A document, and what the feed says of its leaves.
package struct ListedLeaves: Sendable {
    package let id: DocumentID
    /// The leaf revisions, deleted ones too; nil if they are to be asked for.
    package let revisions: [RevisionID]?
}

/// What was read of a document's leaves.
package enum FoundLeaves: Sendable {
    /// Several leaves, or one and deletions of what it was made of.
    case conflict(Conflict)
    case unreadable(reason: String)
}

/// A document in conflict, and how to resolve it.
package struct ConflictingDocument: Sendable {
    package let id: DocumentID
    package let conflict: Conflict
    package let policies: ConflictPolicies
}

/// What became of documents in conflict.
package struct ResolvedConflicts: Sendable {
    package enum Outcome: Sendable, Equatable {
        case resolved
        /// There was nothing to resolve.
        case none
        /// The document is left in conflict.
        case left(reason: String)
    }

    package var outcomes: [DocumentID: Outcome] = [:]
    /// What was sent: `written`, `deleted`, `writeRequests`, `bytesOut`, `retries`.
    package var counters = RunCounters()

    package init() {}
}
