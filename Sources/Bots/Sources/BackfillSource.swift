internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging

/// A part of a backfill: some of its documents, until its time is over or all are done.
package final class BackfillPart: Sendable {
    let backfill: Backfill
    /// Records what was done so far: all documents up to this one; nil: not known.
    let note: @Sendable (DocumentID?, Backfill.Counts) async throws -> Void
    /// When other passes get a turn.
    let end: ContinuousClock.Instant
    private let isDone = Locked(false)

    init(
        _ backfill: Backfill, until end: ContinuousClock.Instant,
        note: @escaping @Sendable (DocumentID?, Backfill.Counts) async throws -> Void
    ) {
        (self.backfill, self.end, self.note) = (backfill, end, note)
    }

    /// Whether all documents are done.
    var hasAllDocuments: Bool { isDone.withLock(\.self) }
    func noteAllDocuments() { isDone.withLock { $0 = true } }
}

/// Reads documents from pages of `_all_docs`, in the order of ids. Each portion is finished before the next is decided,
/// so that the state can tell where to continue, and so that the feed is hardly delayed. At a low rate, portions are
/// small, so that the rule fires evenly and the bot need not wait for long between two of them.
///
/// If this user may not read `_all_docs`, the feed is read instead, in one part.
struct BackfillSource: WorkSource {
    private static let pageSize = 500
    /// The shortest time between two records of the progress.
    private static let noteInterval: Duration = .seconds(1)

    let gateway: Gateway
    /// Tells where the feed ends.
    let info: DatabaseInfo
    let part: BackfillPart

    func run(into delivery: Delivery) async throws {
        let (progress, retries, logger) = (delivery.progress, delivery.settings.retries, delivery.logger)
        let intake = delivery.makeIntake()
        let began = ContinuousClock.now
        var notedAt = began
        var pages = DocumentPages(of: gateway, after: part.backfill.lastID, pageSize: Self.pageSize)
        pages.noteRequest = delivery.noteRequest
        var list = DocumentListReader(
            pages,
            Retrier(RetryPolicy.forKnownGateway(retries), logger: logger) { await progress.noteRetry() })
        var last = part.backfill.lastID
        while let batch = try await list.next() {
            for portion in batch.parts(of: min(Self.pageSize, part.backfill.rate)) {
                guard .now < part.end else { return try await part.note(last, counts(progress)) }
                try await intake.take(portion)
                guard await delivery.waitUntilIdle() else { return }
                for row in portion { last = row.id }
                if notedAt.duration(to: .now) >= Self.noteInterval {
                    try await part.note(last, counts(progress))
                    notedAt = .now
                }
                try await keepToRate(began, progress)
            }
        }
        if list.isForbidden {
            try await readFeed(into: intake, delivery)
            last = nil
        }
        guard await delivery.waitUntilIdle() else { return }
        try await part.note(last, counts(progress))
        part.noteAllDocuments()
    }

    private func readFeed(into intake: Intake, _ delivery: Delivery) async throws {
        let (progress, logger) = (delivery.progress, delivery.logger)
        let began = ContinuousClock.now
        logger.notice(DocumentListReader.readsFeedInstead)
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: info.newestSequence), retries: delivery.settings.retries,
            logger: logger, noteRetry: { await progress.noteRetry() })
        reader.listener.noteRequest = delivery.noteRequest
        try await reader.read(from: .start) { rows, reached in
            try await intake.take(rows, reached: reached)
            guard await delivery.waitUntilIdle() else { return }
            try await part.note(nil, counts(progress))
            try await keepToRate(began, progress)
        }
    }

    /// Waits as long as the rule has fired on more documents since `began` than the rate allows.
    private func keepToRate(_ began: ContinuousClock.Instant, _ progress: RunProgress) async throws {
        let matched = await progress.counters.matched
        try await Task.sleep(until: began + .seconds(matched) / part.backfill.rate, clock: .continuous)
    }

    /// What all parts have done so far.
    private func counts(_ progress: RunProgress) async -> Backfill.Counts {
        let counters = await progress.counters
        return part.backfill.counts
            + Backfill.Counts(
                read: counters.changes, matched: counters.matched, written: counters.written,
                deadLetters: counters.deadLetters)
    }
}
