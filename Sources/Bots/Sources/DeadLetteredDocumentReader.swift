internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

/// Reads dead-lettered documents as they are now.
struct DeadLetteredDocumentReader {
    private let gateway: Gateway
    private let decidesDeletions: Bool
    private let answerLimit: Int
    private let contact: GatewayContact
    /// Of the requests for leaves.
    private let history = SharedHistory()
    private var reader: CurrentDocumentReader

    /// - Parameter decidesDeletions: Whether any rule may fire on a deleted document.
    init(gateway: Gateway, decidesDeletions: Bool, progress: RunProgress, settings: Delivery.Settings, logger: Logger) {
        self.gateway = gateway
        self.decidesDeletions = decidesDeletions
        // Beside the answer, its documents are in memory several times.
        answerLimit = min(CurrentDocumentReader.answerLimitForSeveral, max(1, settings.capacity.memory.limit / 4))
        contact = GatewayContact(settings: settings.retries, logger: logger) { await progress.noteRetry() }
        reader = contact.makeReader(of: gateway)
    }

    /// Reads documents and delivers them in parts as answers arrive.
    ///
    /// - Throws: `RunError` when the retry policy gives up, `CancellationError`, what `take` throws.
    mutating func read(
        _ documents: ArraySlice<DeadLetteredDocument>, take: ([RetriedDocument]) async throws -> Void
    ) async throws {
        let unknown = documents.filter { $0.id.text.isEmpty }
        if !unknown.isEmpty { try await take(unknown.map { RetriedDocument($0, .unknown) }) }
        var known = documents.filter { !$0.id.text.isEmpty }[...]
        var reader = reader
        try await reader.read(known.map(\.id)[...], limit: answerLimit) { ids, lookups in
            var read: [RetriedDocument] = []
            var bytes = 0
            for (document, lookup) in zip(known.prefix(ids.count), lookups) {
                read.append(RetriedDocument(document, try await content(of: document.id, lookup)))
                bytes += read.last?.byteCount ?? 0
                // Tombstones are read one by one, and may be large.
                guard bytes >= answerLimit else { continue }
                try await take(read)
                (read, bytes) = ([], 0)
            }
            known = known.dropFirst(ids.count)
            try await take(read)
        }
        self.reader = reader
    }

    private func content(
        of id: DocumentID, _ lookup: DocumentLookup
    ) async throws -> RetriedDocument.Content {
        switch lookup {
        case .found(let revision, let text): .document(revision, text)
        case .deleted, .missing: try await remains(of: id)
        case .refused(let reason): .unreadable(reason: reason)
        }
    }

    /// Lists don't show the members of a tombstone, and Sync Gateway gives the same answer for a deleted document as for
    /// one that never existed. If any rule decides deletions, the leaves are requested. A document that keeps failing
    /// while the gateway answers is unreadable.
    private func remains(of id: DocumentID) async throws -> RetriedDocument.Content {
        guard decidesDeletions else { return .gone }
        let answer = try await contact.askOrGiveUp(
            gateway, history: history, "documents can't be read; trying again", [LogKey.id: "\(id)"],
            unless: DocumentRemains.isFinal
        ) { try await gateway.openRevisions(of: id) }
        switch answer {
        case .success(let leaves): return DocumentRemains.content(of: leaves)
        case .failure(let error): return DocumentRemains.content(after: error)
        }
    }
}

/// What is left of a document that the gateway does not return: a tombstone, or nothing.
enum DocumentRemains {
    /// From its leaves.
    static func content(of leaves: [OpenRevision]) -> RetriedDocument.Content {
        leaves.winningTombstone.map { .tombstone($0.revision, $0.text) } ?? .gone
    }

    /// Whether the same request would get the same error again.
    static func isFinal(_ error: GatewayError) -> Bool {
        switch error.code {
        case .notFound: !error.isAboutKeyspace
        case .badRequest, .tooLarge: true
        default: false
        }
    }

    /// From the last error instead of the leaves.
    static func content(after error: GatewayError) -> RetriedDocument.Content {
        error.code == .notFound && isFinal(error) ? .gone : .unreadable(reason: error.message)
    }
}
