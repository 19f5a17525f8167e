internal import DocumentFlow
internal import Logging
internal import ServiceLifecycle

/// One receiver of webhooks: lets a limited number of requests through, and none while it is down.
actor WebhookReceiver {
    typealias Instant = ContinuousClock.Instant

    /// Requests at a time. One, while it is not known whether the receiver is up again.
    private static let concurrency = 8

    /// What becomes of an event after a failed attempt.
    enum Verdict: Sendable {
        case retry(at: Instant)
        /// The receiver takes others, but not this one.
        case givesUp(attempts: Int)
    }

    /// Scheme, host and port.
    private let origin: String
    private let logger: Logger
    private var health: ReceiverHealth
    private var attempts: EventAttempts
    private var active = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ origin: String, _ retries: RetryPolicy.Settings, _ backoff: Backoff, _ logger: Logger) {
        self.origin = origin
        self.logger = logger
        health = ReceiverHealth(retries, backoff)
        attempts = EventAttempts(backoff)
    }

    /// Waits until a request may be sent; call ``leave()`` after it.
    ///
    /// - Returns: Nil; or, without a request, when to try again because the receiver is down.
    /// - Throws: `CancellationError`.
    func enter() async throws -> Instant? {
        while true {
            try Task.checkCancellation()
            if let due = health.due(now: .now) { return due }
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

    private var limit: Int { health.outage == nil ? Self.concurrency : 1 }

    func leave() {
        active -= 1
        let count = health.due(now: .now) == nil ? min(max(0, limit - active), waiting.count) : waiting.count
        let woken = waiting[..<count]
        waiting.removeFirst(count)
        for continuation in woken { continuation.resume() }
    }

    /// - Parameter sent: When the request was sent.
    func succeed(_ key: String, sent: Instant) {
        attempts.end(key)
        guard let span = health.succeed(sent: sent, now: .now) else { return }
        logger.notice(
            "a receiver of webhooks answers again", metadata: [LogKey.url: "\(origin)", "outage": "\(span.text)"])
    }

    /// The event is a dead letter.
    func refuse(_ key: String, sent: Instant) {
        // It answered: it is there.
        succeed(key, sent: sent)
    }

    /// - Throws: `RunError` if a one-shot job has waited long enough.
    func fail(_ key: String, _ error: WebhookError, sent: Instant) throws(RunError) -> Verdict {
        let (isNews, step) = health.fail(
            error.health, reason: error.reason, retryAfter: error.retryAfter, sent: sent, now: .now)
        var verdict: (givesUp: Bool, wait: Duration) = (false, .zero)
        let count = attempts.count(key) + 1
        switch error.suspicion {
        case .none: break
        case .gateway: verdict = attempts.fail(key, isOfGateway: true, successes: health.successes)
        case .event: verdict = attempts.fail(key, isOfGateway: false, successes: health.successes)
        }
        if verdict.givesUp { return .givesUp(attempts: count) }
        switch step {
        case .giveUp(let reason): throw RunError(.gaveUp, reason)
        case .retry(let due):
            if isNews {
                logger.warning(
                    "a receiver of webhooks can't be reached, or serves nobody; what is for it waits",
                    metadata: [LogKey.url: "\(origin)", LogKey.reason: "\(error.reason)"])
            }
            return .retry(at: max(due, .now) + verdict.wait)
        }
    }
}

/// Why a webhook was not accepted, but may be later.
struct WebhookError: Error {
    /// What else may be wrong than the receiver.
    enum Suspicion {
        /// Nothing: the event was not looked at.
        case none
        /// What stands in for the receiver gave the answer, so probably nothing.
        case gateway
        /// The event.
        case event
    }

    let reason: String
    let health: ReceiverHealth.Failure
    let suspicion: Suspicion
    var retryAfter: Duration?
}
