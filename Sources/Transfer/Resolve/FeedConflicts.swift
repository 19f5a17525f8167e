package import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging
internal import Rules

/// Resolves conflicts that a bot meets in its feed.
package struct FeedConflicts: Sendable {
    private let resolver: ConflictResolver
    private let logger: Logger

    /// - Parameter pauses: Of the run: they end when it is to stop.
    package init(gateway: Gateway, retries: RetryPolicy.Settings, pauses: Pauses, logger: Logger) {
        let contact = GatewayContact(settings: retries, pauses: pauses, logger: logger)
        resolver = ConflictResolver(gateway, contact, retries, pauses: pauses, logger)
        self.logger = logger
    }

    /// Reads the leaves of documents. There is no entry for those that are not in conflict.
    ///
    /// - Parameter documents: With all leaf revisions; nil: they are asked for.
    /// - Throws: `RunError`, `CancellationError`.
    package func leaves(
        of documents: [(id: DocumentID, revisions: [RevisionID]?)]
    ) async throws -> [DocumentID: ConflictResolver.Leaves] {
        var listed: [ChangedDocument] = []
        for (id, known) in documents {
            var revisions = known ?? []
            if known == nil { revisions = try await resolver.leafRevisions(of: id) }
            if revisions.count > 1 { listed.append(ChangedDocument(id: id, revisions: revisions)) }
        }
        return try await resolver.leaves(of: listed).filter { _, leaves in
            guard case .read(let conflict) = leaves else { return true }
            return conflict.leaves.count > 1 || !conflict.leaves.isEmpty && !conflict.deletions.isEmpty
        }
    }

    /// Decides and writes.
    ///
    /// - Returns: For each case nil if it was resolved, or why it is left in conflict; no entry if there was nothing to
    ///   resolve. And what was sent.
    /// - Throws: `RunError`, `CancellationError`. Some documents may have been resolved.
    package func resolve(_ cases: [ConflictCase]) async throws -> (ends: [DocumentID: String?], sent: RunCounters) {
        var cases = cases.filter(\.isConflict)
        try await resolver.decide(&cases)
        cases.removeAll(where: \.isSettled)
        let ends = Locked([DocumentID: String?]())
        let sent = Locked(RunCounters())
        do {
            try await resolver.write(cases) { [logger] one, end in
                switch end {
                case .resolved:
                    ends.withLock { $0[one.id] = .some(nil) }
                    one.logResolution(to: logger)
                case .settled: break
                case .left(let reason): ends.withLock { $0[one.id] = reason }
                }
            } count: { more in
                sent.withLock { $0.addSent(more) }
            }
        } catch let error as TransferError {
            throw RunError(.cannotCreate, error.description)
        }
        return (ends.withLock { $0 }, sent.withLock { $0 })
    }
}

extension ConflictCase {
    func logResolution(to logger: Logger) {
        logger.debug(
            "resolved a conflict",
            metadata: [
                LogKey.id: "\(id)", LogKey.policy: "\(policy.name)", LogKey.leaves: "\(conflict.leaves.count)",
            ])
    }
}
