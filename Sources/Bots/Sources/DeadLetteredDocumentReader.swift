internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

/// Reads the current revisions of dead-lettered documents.
struct DeadLetteredDocumentReader {
    private let gateway: Gateway
    private let decidesDeletions: Bool
    private let answerLimit: Int
    private let contact: GatewayContact
    /// The history of requests for leaves.
    private let history = SharedHistory()
    private var reader: CurrentDocumentReader

    /// - Parameter decidesDeletions: Whether any rule may fire on a deleted document.
    init(gateway: Gateway, decidesDeletions: Bool, progress: RunProgress, settings: Delivery.Settings, logger: Logger) {
        self.gateway = gateway
        self.decidesDeletions = decidesDeletions
        // Besides the response itself, memory holds its documents several times.
        answerLimit = min(CurrentDocumentReader.batchAnswerLimit, max(1, settings.capacity.memory.limit / 4))
        contact = GatewayContact(settings: settings.retries, logger: logger) { await progress.noteRetry() }
        reader = contact.makeReader(of: gateway)
    }

    /// Reads documents and delivers them in batches as responses arrive.
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
                // Tombstones are read one at a time and can be large.
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
        case .deleted, .missing: try await missingContent(of: id)
        case .refused(let reason): .unreadable(reason: reason)
        }
    }

    /// Lists don't show the members of a tombstone, and Sync Gateway responds to requests for deleted documents as if
    /// they had never existed. So if any rule decides deletions, the leaves are requested. If a document keeps failing
    /// while the gateway answers, it is unreadable.
    private func missingContent(of id: DocumentID) async throws -> RetriedDocument.Content {
        guard decidesDeletions else { return .gone }
        let answer = try await contact.askWithLimit(
            gateway, history: history, "documents can't be read; trying again", [LogKey.id: "\(id)"],
            unless: MissingDocument.isFinal
        ) { try await gateway.openRevisions(of: id) }
        switch answer {
        case .success(let leaves): return MissingDocument.content(of: leaves)
        case .failure(let error): return MissingDocument.content(after: error)
        }
    }
}

/// What remains of a document that the gateway does not return: a tombstone, or nothing.
enum MissingDocument {
    /// What remains, according to the document's leaves.
    static func content(of leaves: [OpenRevision]) -> RetriedDocument.Content {
        leaves.winningTombstone.map { .tombstone($0.revision, $0.text) } ?? .gone
    }

    /// Whether repeating the request would return the same error.
    static func isFinal(_ error: GatewayError) -> Bool {
        switch error.code {
        case .notFound: !error.isAboutKeyspace
        case .badRequest, .tooLarge: true
        default: false
        }
    }

    /// What remains, according to the error that the request for leaves returned.
    static func content(after error: GatewayError) -> RetriedDocument.Content {
        error.code == .notFound && isFinal(error) ? .gone : .unreadable(reason: error.message)
    }
}
