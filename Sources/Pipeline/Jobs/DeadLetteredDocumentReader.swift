internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Reads dead-lettered documents as they are now.
struct DeadLetteredDocumentReader {
    private let gateway: Gateway
    private let decider: Decider
    private let answerLimit: Int
    private var reader: CurrentDocumentReader
    private var retrier: Retrier

    /// - Parameter decider: Tells whether any rule may fire on a deleted document.
    init(gateway: Gateway, decider: Decider, progress: RunProgress, settings: Delivery.Settings, logger: Logger) {
        self.gateway = gateway
        self.decider = decider
        answerLimit = settings.memory.limit
        let policy = RetryPolicy(settings.retries, hasSucceeded: true)
        let noteRetry: @Sendable () async -> Void = { await progress.noteRetry() }
        reader = CurrentDocumentReader(gateway: gateway, policy: policy, logger: logger, noteRetry: noteRetry)
        retrier = Retrier(policy, logger: logger, noteRetry: noteRetry)
    }

    /// Reads documents and delivers them in parts as answers arrive.
    ///
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`, what `take` throws.
    mutating func read(
        _ documents: ArraySlice<DeadLetteredDocument>, take: ([RetriedDocument]) async throws -> Void
    ) async throws {
        let unknown = documents.filter { $0.id.text.isEmpty }
        if !unknown.isEmpty { try await take(unknown.map { RetriedDocument($0, .unknown) }) }
        var known = documents.filter { !$0.id.text.isEmpty }[...]
        var reader = reader
        try await reader.read(known.map(\.id)[...], limit: answerLimit) { ids, lookups in
            var read: [RetriedDocument] = []
            for (document, lookup) in zip(known.prefix(ids.count), lookups) {
                read.append(RetriedDocument(document, try await content(of: document.id, lookup)))
            }
            known = known.dropFirst(ids.count)
            try await take(read)
        }
        self.reader = reader
    }

    private mutating func content(
        of id: DocumentID, _ lookup: DocumentLookup
    ) async throws -> RetriedDocument.Content {
        switch lookup {
        case .found(let revision, let text): .document(revision, text)
        case .deleted(let revision): .tombstone(revision)
        case .missing: try await remains(of: id)
        case .refused(let reason): .unreadable(reason: reason)
        }
    }

    /// Sync Gateway gives the same answer for a deleted document as for one that never existed. If a rule may fire on
    /// deletions, its leaves are requested.
    private mutating func remains(of id: DocumentID) async throws -> RetriedDocument.Content {
        let tombstone = try? JSONText(RetriedDocument.tombstone(id, nil))
        guard let tombstone, decider.mayFire(on: tombstone.root, isDeleted: true) else { return .gone }
        var remains = DocumentRemains()
        while true {
            do throws(GatewayError) {
                let leaves = try await gateway.openRevisions(of: id)
                retrier.succeed()
                return DocumentRemains.content(of: leaves)
            } catch {
                if let content = remains.content(after: error) { return content }
                try await retrier.wait(after: error, "documents can't be read; trying again")
            }
        }
    }
}

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
