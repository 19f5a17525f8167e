internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Pipeline
internal import Transfer

/// Gives a bot what `changebot resolve` does.
struct RunConflicts: ConflictResolving {
    private let feed: FeedConflicts

    init(_ gateway: Gateway, _ retries: RetryPolicy.Settings, _ pauses: Pauses, _ logger: Logger) {
        feed = FeedConflicts(gateway: gateway, retries: retries, pauses: pauses, logger: logger)
    }

    func conflicts(among documents: [ListedLeaves]) async throws -> [DocumentID: FoundLeaves] {
        try await feed.leaves(of: documents.map { ($0.id, $0.revisions) }).mapValues { leaves in
            switch leaves {
            case .read(let conflict): .conflict(conflict)
            case .unreadable(let reason): .unreadable(reason: reason)
            }
        }
    }

    func resolve(_ documents: [ConflictingDocument]) async throws -> ResolvedConflicts {
        let (ends, sent) = try await feed.resolve(
            documents.compactMap { ConflictCase($0.id, $0.conflict, $0.policies) })
        var resolved = ResolvedConflicts()
        resolved.outcomes = ends.mapValues { reason in reason.map { .left(reason: $0) } ?? .resolved }
        resolved.counters = sent
        return resolved
    }
}
