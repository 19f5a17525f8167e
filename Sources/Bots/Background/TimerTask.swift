internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging

/// Enqueues documents whose timers are due, the earliest first.
///
/// Notices a changed system clock within ``Delivery/Intervals/maxSleep``. Sleeps as long as there are no timers.
struct TimerTask: BackgroundTask {
    /// How many timers are read at once.
    private static let batchSize = 1_000

    let timers: DocumentTimers
    let rules: [String]
    /// Seconds since 1970.
    let now: @Sendable () -> Int
    let maxSleep: Duration
    let logger: Logger
    /// The timers that were appended to a log, which does not know which documents are under way. Nil without a log:
    /// the queue knows.
    private(set) var dispatched: DispatchedTimers?
    private var hasLoggedDue = false

    /// - Parameter rules: The names of the rules whose timers fire.
    init(_ timers: DocumentTimers, _ rules: [String], _ settings: Delivery.Settings, _ logger: Logger) {
        (self.timers, self.rules, self.logger) = (timers, rules, logger)
        now = settings.now
        maxSleep = settings.intervals.maxSleep
    }

    var woken: Signal { timers.changed }
    let documentsAtOnce: Int? = 100

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        guard phase != .stopping else { return BackgroundTaskResult() }
        let now = now()
        let count = try await enqueueDue(by: now, enqueuer)
        if count > 0, !hasLoggedDue {
            logger.debug("timers are due", metadata: [LogKey.documents: "\(count)"])
        }
        hasLoggedDue = count > 0
        // With a log, the task runs at regular intervals.
        let next = enqueuer.isDurable ? nil : try await timers.next(after: now)
        return BackgroundTaskResult(
            hasEnqueued: count > 0, next: next.map { .now + min(.seconds($0 - now), maxSleep) })
    }

    /// - Returns: How many documents were enqueued.
    private mutating func enqueueDue(by now: Int, _ enqueuer: any CandidateEnqueuer) async throws -> Int {
        if enqueuer.isDurable {
            dispatched = dispatched ?? DispatchedTimers()
            dispatched?.begin(now: now, .now)
        }
        var count = 0
        var last: WaitingTimer?
        while try await enqueuer.room() {
            let due = try await timers.ledger.timers(
                from: dispatched?.start, dueBy: now, ofRules: rules, after: last,
                limit: Self.batchSize)
            let new = dispatched?.new(among: due) ?? due
            var seen: Set<DocumentID> = []
            let documents = new.map(\.id).filter { seen.insert($0).inserted }
            count += try await enqueuer.enqueue(documents.map { Candidate(ofTimer: $0) })
            dispatched?.note(due)
            last = due.last
            guard due.count < Self.batchSize else { continue }
            dispatched?.end()
            break
        }
        return count
    }
}
