internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// All live documents of a keyspace, from pages of `_all_docs` in the order of ids.
///
/// If this user may not read those, the feed is read until the bot is up to date. A document that changes meanwhile may
/// then be read twice; the second decision finds nothing to do.
struct ListSource: WorkSource {
    let gateway: Gateway
    /// Tells where the feed ends.
    let info: DatabaseInfo

    private struct LimitReached: Error {}

    func run(into delivery: Delivery) async throws {
        let intake = delivery.makeIntake()
        do {
            try await read(delivery, noteRequest: delivery.noteRequest) { batch in
                try await intake.take(batch)
                if await delivery.allowance.isExhausted { throw LimitReached() }
            } takeRows: { rows, reached in
                try await intake.take(rows, reached: reached)
                if await delivery.allowance.isExhausted { throw LimitReached() }
            }
        } catch is LimitReached {
            delivery.logger.debug("reached --limit")
        }
    }

    /// - Parameters:
    ///   - noteRequest: Called before each request.
    ///   - take: Takes pages of documents.
    ///   - takeRows: Takes rows of the feed, if that is read instead.
    /// - Throws: Also what the closures throw, which ends the reading.
    func read(
        _ delivery: Delivery, noteRequest: @escaping @Sendable () async -> Void = {},
        take: (DocumentBatch) async throws -> Void,
        takeRows: @escaping (ChangesBatch.SubSequence?, SequenceID) async throws -> Void
    ) async throws {
        let (progress, retries, logger) = (delivery.progress, delivery.settings.retries, delivery.logger)
        var pages = DocumentPages(of: gateway)
        pages.noteRequest = noteRequest
        var list = DocumentListReader(
            pages,
            Retrier(RetryPolicy.forKnownGateway(retries), logger: logger) { await progress.noteRetry() })
        while let batch = try await list.next() { try await take(batch) }
        guard list.isForbidden else { return }
        logger.notice(DocumentListReader.readsFeedInstead)
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: info.newestSequence), retries: retries, logger: logger,
            noteRetry: { await progress.noteRetry() })
        reader.listener.noteRequest = noteRequest
        try await reader.read(from: .start, deliver: takeRows)
    }
}
