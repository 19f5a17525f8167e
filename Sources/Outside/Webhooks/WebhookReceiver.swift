internal import DocumentFlow
internal import Locking
internal import Logging
internal import ServiceLifecycle

/// One webhook receiver: limits concurrent requests, and sends none while the receiver is down. Requests that would wait
/// for more than a second are deferred.
actor WebhookReceiver {
    typealias Instant = ContinuousClock.Instant

    /// Concurrent requests. Only one while the receiver is down, to find out whether it is up again.
    private static let concurrency = 8
    /// How often a slow receiver is logged.
    private static let slownessInterval: Duration = .seconds(60)

    /// Whether a request may be sent now.
    enum Admission {
        /// It may. Call ``leave(since:)`` afterwards.
        case open(since: Instant)
        /// The receiver is down.
        case down(until: Instant)
        /// Too many requests are already waiting.
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
    private var isRecheckScheduled = false
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
    ///   - key: The event's key.
    ///   - document: Counted as waiting while the receiver is down.
    ///   - isReturning: Whether the document was deferred before.
    /// - Throws: `CancellationError`.
    func enter(_ key: String, _ document: String, isReturning: Bool) async throws -> Admission {
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
            // A shutdown finishes requests in flight and starts no others.
            if Task.isShuttingDownGracefully { return .busy(until: now) }
            if let retry = retryTimeIfFull(isReturning, now) { return .busy(until: retry) }
            scheduleRecheck()
            // Resumed when a request in flight ends, at the latest when all writers are cancelled.
            await withNamedContinuation("a free request to a receiver") { waiting.append($0) }
        }
    }

    /// When to try again, if a request would be deferred now.
    func retryTimeIfBusy(isReturning: Bool) -> Instant? {
        guard health.outage == nil, active >= limit else { return nil }
        return retryTimeIfFull(isReturning, .now)
    }

    /// Defers the request if the queue is full.
    private func retryTimeIfFull(_ isReturning: Bool, _ now: Instant) -> Instant? {
        guard waiting.count >= pace.queueLimit(isReturning: isReturning, now: now) else { return nil }
        noteSlowness(now)
        return pace.deferRequest(now: now)
    }

    private func noteSlowness(_ now: Instant) {
        // An outage is logged by itself.
        guard health.outage == nil else { return }
        if let shown = slownessShownAt, shown.duration(to: now) < Self.slownessInterval { return }
        slownessShownAt = now
        logger.notice(
            "a webhook receiver is slow; only its events wait",
            metadata: [LogKey.url: "\(origin)"])
    }

    /// Requests that hang resume no waiter. So the queue is also checked against its limit every second.
    private func scheduleRecheck() {
        guard !isRecheckScheduled else { return }
        isRecheckScheduled = true
        Task {
            repeat {
                try? await Task.sleep(for: ReceiverPace.maxWait)
                wake(0)
            } while !waiting.isEmpty
            isRecheckScheduled = false
        }
    }

    private var receiver: ReceiverOutages.Receiver { ReceiverOutages.Receiver(.webhooks, origin) }

    private func noteWaiting(_ document: String) {
        health.noteWaiting(document)
        report()
    }

    private func report() { reporter.note(receiver, health.status) }

    private var limit: Int { health.outage == nil ? Self.concurrency : 1 }

    func leave(since start: Instant) {
        active -= 1
        pace.end(start: start, now: .now)
        // While the receiver is down, all waiters are resumed, so that they see the outage.
        wake(health.outage == nil ? max(0, limit - active) : waiting.count)
    }

    /// Resumes the first waiters, and those beyond the queue's limit: both check again.
    private func wake(_ count: Int) {
        let room = pace.queueLimit(isReturning: true, now: .now)
        let first = waiting.prefix(count)
        let rest = waiting.dropFirst(count)
        waiting = Array(rest.prefix(room))
        for continuation in first { continuation.resume() }
        for continuation in rest.dropFirst(room) { continuation.resume() }
    }

    /// Notes that the event was accepted or refused for good: in both cases, the receiver is up.
    ///
    /// - Parameter sent: When the request was sent.
    func answered(_ key: String, sent: Instant) {
        guard let span = health.succeed(key, sent: sent, now: .now) else { return }
        report()
        logger.notice(
            "a webhook receiver is up again", metadata: [LogKey.url: "\(origin)", "outage": "\(span.text)"])
    }

    func failed(
        _ key: String, _ document: String, _ failure: ReceiverFailure, sent: Instant
    ) -> ReceiverHealth.Verdict {
        let (shouldLog, verdict) = health.fail(key, failure, sent: sent, now: .now)
        if case .refuse = verdict { report() } else { noteWaiting(document) }
        if shouldLog {
            logger.warning(
                "a webhook receiver is down; its events are queued",
                metadata: [LogKey.url: "\(origin)", LogKey.reason: "\(failure.summary)"])
        }
        return verdict
    }
}
