internal import GatewayClient
internal import LosslessJSON

/// Finds out what is left of a document that the gateway does not return: a tombstone, or nothing.
struct DocumentRemains {
    /// Invalid answers after which the document counts as unreadable.
    static let failuresBeforeGivingUp = 3

    private var invalidAnswers = 0

    /// From its leaves. The winner is the one with the highest generation, then the greater digest.
    static func content(of leaves: [OpenRevision]) -> RetriedDocument.Content {
        let tombstones = leaves.compactMap { leaf -> RevisionID? in
            guard case .found(let text) = leaf, text.root["_deleted"]?.bool == true else { return nil }
            return text.root["_rev"]?.string.map { RevisionID($0) }
        }
        let winner = tombstones.max { ($0.generation ?? 0, $0.text) < ($1.generation ?? 0, $1.text) }
        return winner.map { .tombstone($0) } ?? .gone
    }

    /// From an error instead of the leaves; nil: ask again.
    mutating func content(after error: GatewayError) -> RetriedDocument.Content? {
        switch error.code {
        case .notFound: return .gone
        case .badRequest, .tooLarge: return .unreadable(reason: error.message)
        case .malformedAnswer: invalidAnswers += 1
        default: break
        }
        return invalidAnswers < Self.failuresBeforeGivingUp ? nil : .unreadable(reason: error.message)
    }
}
