internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON

/// A change with its document, of any type.
struct FeedRow: Sendable {
    enum Content: Sendable {
        case document(JSONValue)
        case deleted
        case inaccessible
        case malformed(String)
    }

    let sequence: SequenceID
    let id: DocumentID
    let revision: RevisionID?
    let content: Content
}

/// Reads a feed as ``FeedRow``s, and reconnects.
struct KeyspaceFeed: Sendable {
    let gateway: Gateway
    let logger: Logger
    /// Whether it continues after it has caught up.
    var isLive = true
    /// Called when the feed was read to its end.
    var noteCaughtUp: @Sendable () async -> Void = {}

    private var retries: RetryPolicy.Settings {
        var retries = RetryPolicy.Settings()
        retries.isDaemon = true
        return retries
    }

    /// - Throws: `GatewayError`, `CancellationError`, what `receive` throws.
    func read(from since: SequenceID, _ receive: ([FeedRow]) async throws -> Void) async throws {
        let retries = retries
        do {
            _ = try await GatewayContact(settings: retries, logger: logger).connect(to: gateway, logLevel: .debug)
        } catch let error as RunError {
            throw GatewayError(error)
        }
        var current = CurrentDocumentReader(
            gateway: gateway, policy: .forKnownGateway(retries), logger: logger, noteRetry: {})
        var reader = FeedReader(
            gateway: gateway, end: isLive ? .never : .caughtUp(with: nil), retries: retries, logger: logger,
            noteRetry: {})
        let isCaughtUp = Locked(false)
        reader.listener.noteCaughtUp = { [noteCaughtUp] isNow in
            let isFirst = isCaughtUp.withLock { was in
                defer { was = was || isNow }
                return isNow && !was
            }
            if isFirst { await noteCaughtUp() }
        }
        do {
            try await reader.read(from: since) { rows, _ in
                guard let rows else { return }
                try await receive(try await feedRows(rows, &current))
            }
        } catch let error as RunError {
            throw GatewayError(error)
        }
    }

    /// Looks up rows without a body: the documents have changed again, or could not be read.
    private func feedRows(
        _ rows: ChangesBatch.SubSequence, _ current: inout CurrentDocumentReader
    ) async throws -> [FeedRow] {
        let missing = rows.filter { $0.kind == .withoutBody }.map(\.id)
        var lookups: ArraySlice<DocumentLookup> = []
        if !missing.isEmpty { lookups = try await current.read(missing[...])[...] }
        return rows.compactMap { row -> FeedRow? in
            guard let sequence = row.sequence else { return nil }
            let content: FeedRow.Content
            switch row.kind {
            case .document: content = row.document.map { .document($0) } ?? .inaccessible
            case .tombstone: content = .deleted
            case .removed, .revoked: content = row.isDeleted ? .deleted : .inaccessible
            case .malformed(let error): content = .malformed("\(error)")
            case .withoutBody:
                switch lookups.popFirst() {
                case .found(_, let text)?: content = .document(text.root)
                case .deleted?, .missing?: content = .deleted
                case .refused?, nil: content = .inaccessible
                }
            case .principal, .failure: return nil
            }
            return FeedRow(sequence: sequence, id: row.id, revision: row.revision, content: content)
        }
    }
}

extension GatewayError {
    /// Converts the error that ended a feed or a list.
    init(_ error: RunError) {
        let code: Code =
            switch error.code {
            // Other connection failures are retried.
            case .unreachable: .tlsFailed
            case .notAllowed: .unauthorized
            case .databaseMissing: .notFound
            case .notAGateway: .malformedAnswer
            case .sequenceRefused: .badRequest
            case .outOfResources: .outOfResources
            case .gaveUp: .unavailable
            default: .invalidRequest
            }
        self.init(code, error.description)
    }
}
