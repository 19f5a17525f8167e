internal import DocumentFlow
internal import Logging
internal import ServiceLifecycle

/// One receiver of webhooks: lets a limited number of requests through, and none while it is down.
actor WebhookReceiver {
    typealias Instant = ContinuousClock.Instant

    /// Requests at a time. One, while it is not known whether the receiver is up again.
    private static let concurrency = 8

    /// Scheme, host and port.
    private let origin: String
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private var health: ReceiverHealth
    private var active = 0
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

    /// Waits until a request may be sent; call ``leave()`` after it.
    ///
    /// - Parameters:
    ///   - key: Of the event.
    ///   - document: Waits while the receiver is down.
    /// - Returns: Nil; or, without a request, when to try again because the receiver is down.
    /// - Throws: `CancellationError`.
    func enter(_ key: String, _ document: String) async throws -> Instant? {
        while true {
            try Task.checkCancellation()
            if let due = health.due(key, now: .now) {
                noteWaiting(document)
                return due
            }
            if active < limit {
                active += 1
                return nil
            }
            // What is under way is finished, and no more.
            if Task.isShuttingDownGracefully { return .now }
            // Ends with a request that is under way, which a cancellation of all writers ends too.
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private var receiver: ReceiverOutages.Receiver { ReceiverOutages.Receiver(.webhooks, origin) }

    private func noteWaiting(_ document: String) {
        health.noteWaiting(document)
        report()
    }

    private func report() { reporter.note(receiver, health.standing) }

    private var limit: Int { health.outage == nil ? Self.concurrency : 1 }

    func leave() {
        active -= 1
        // Those that must wait for another attempt find that out.
        let count = health.outage == nil ? min(max(0, limit - active), waiting.count) : waiting.count
        let woken = waiting[..<count]
        waiting.removeFirst(count)
        for continuation in woken { continuation.resume() }
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
                "a receiver of webhooks can't be reached, or serves nobody; what is for it waits",
                metadata: [LogKey.url: "\(origin)", LogKey.reason: "\(failure.summary)"])
        }
        return verdict
    }
}
