internal import DocumentFlow
internal import Logging
internal import ServiceLifecycle

/// One receiver of webhooks: lets a limited number of requests through, and none while it is down. What would wait for
/// long is sent away.
actor WebhookReceiver {
    typealias Instant = ContinuousClock.Instant

    /// Requests at a time. One, while it is not known whether the receiver is up again.
    private static let concurrency = 8
    /// While it is slow, that is logged this often.
    private static let slownessInterval: Duration = .seconds(60)

    /// Whether a request may be sent now.
    enum Entry {
        /// Yes; call ``leave(since:)`` after it.
        case open(since: Instant)
        /// The receiver is down.
        case down(until: Instant)
        /// Too many requests wait already.
        case busy(until: Instant)
    }

    /// Scheme, host and port.
    private let origin: String
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private var health: ReceiverHealth
    private var pace = ReceiverPace(places: WebhookReceiver.concurrency)
    private var slownessShownAt: Instant?
    private var active = 0
    private var isReviewing = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(
        _ origin: String, _ retries: RetryPolicy.Settings, _ backoff: Backoff, _ reporter: ReceiverOutages.Reporter,
        _ logger: Logger
    ) {
        self.origin = origin
        self.reporter = reporter
        self.logger = logger
        health = ReceiverHealth(retries, backoff)
    }

    /// Waits until a request may be sent, or it is clear that it would wait for too long.
    ///
    /// - Parameters:
    ///   - key: Of the event.
    ///   - document: Waits while the receiver is down.
    ///   - isReturning: Whether the document was sent away before.
    /// - Throws: `CancellationError`.
    func enter(_ key: String, _ document: String, isReturning: Bool) async throws -> Entry {
        while true {
            try Task.checkCancellation()
            let now = Instant.now
            if let due = health.due(key, now: now) {
                noteWaiting(document)
                return .down(until: due)
            }
            if active < limit {
                active += 1
                pace.begin(now: now)
                return .open(since: now)
            }
            // What is under way is finished, and no more.
            if Task.isShuttingDownGracefully { return .busy(until: now) }
            if let turn = turnIfFull(isReturning, now) { return .busy(until: turn) }
            reviewLater()
            // Ends with a request that is under way, which a cancellation of all writers ends too.
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// When to come back, if it would be sent away now.
    func turnIfBusy(isReturning: Bool) -> Instant? {
        guard health.outage == nil, active >= limit else { return nil }
        return turnIfFull(isReturning, .now)
    }

    /// Sends somebody away if too many wait for a place.
    private func turnIfFull(_ isReturning: Bool, _ now: Instant) -> Instant? {
        guard waiting.count >= pace.room(isReturning: isReturning, now: now) else { return nil }
        noteSlowness(now)
        return pace.sendAway(now: now)
    }

    private func noteSlowness(_ now: Instant) {
        // Otherwise it is down, which is said.
        guard health.outage == nil else { return }
        if let shown = slownessShownAt, shown.duration(to: now) < Self.slownessInterval { return }
        slownessShownAt = now
        logger.notice(
            "a receiver of webhooks answers slowly; what is for it waits, and other changes do not",
            metadata: [LogKey.url: "\(origin)"])
    }

    /// While requests hang, no answer shows those that wait that their turn is far.
    private func reviewLater() {
        guard !isReviewing else { return }
        isReviewing = true
        Task {
            repeat {
                try? await Task.sleep(for: ReceiverPace.longestWait)
                wake(0)
            } while !waiting.isEmpty
            isReviewing = false
        }
    }

    private var receiver: ReceiverOutages.Receiver { ReceiverOutages.Receiver(.webhooks, origin) }

    private func noteWaiting(_ document: String) {
        health.noteWaiting(document)
        report()
    }

    private func report() { reporter.note(receiver, health.standing) }

    private var limit: Int { health.outage == nil ? Self.concurrency : 1 }

    func leave(since start: Instant) {
        active -= 1
        pace.end(start: start, now: .now)
        // Those that must wait for another attempt find that out.
        wake(health.outage == nil ? max(0, limit - active) : waiting.count)
    }

    /// Lets the first ones look again whether there is a place, and those for whom there is no room to wait.
    private func wake(_ count: Int) {
        let room = pace.room(isReturning: true, now: .now)
        let first = waiting.prefix(count)
        let rest = waiting.dropFirst(count)
        waiting = Array(rest.prefix(room))
        for continuation in first { continuation.resume() }
        for continuation in rest.dropFirst(room) { continuation.resume() }
    }

    /// The event was accepted, or refused for good: either way the receiver is there.
    ///
    /// - Parameter sent: When the request was sent.
    func answered(_ key: String, sent: Instant) {
        guard let span = health.succeed(key, sent: sent, now: .now) else { return }
        report()
        logger.notice(
            "a receiver of webhooks answers again", metadata: [LogKey.url: "\(origin)", "outage": "\(span.text)"])
    }

    func failed(
        _ key: String, _ document: String, _ failure: ReceiverFailure, sent: Instant
    ) -> ReceiverHealth.Verdict {
        let (isNews, verdict) = health.fail(key, failure, sent: sent, now: .now)
        if case .refuse = verdict { report() } else { noteWaiting(document) }
        if isNews {
            logger.warning(
                "a webhook endpoint is down; its events are queued",
                metadata: [LogKey.url: "\(origin)", LogKey.reason: "\(failure.summary)"])
        }
        return verdict
    }
}
