internal import DocumentFlow

/// Whether a receiver of webhooks, or a server of attachments, answers, as far as its last requests show.
///
/// A value without a clock: the caller passes the time. While the receiver is down, nothing is sent to it until the next
/// attempt is due. Attempts go in turns to an event that failed before and to one that did not: a receiver that fails
/// once for each event is back at once, and an event that always fails does not keep the others from it.
struct ReceiverHealth: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A period in which the receiver serves nobody.
    struct Outage: Sendable {
        let began: Instant
        /// The last error, for people.
        var reason: String
        /// The same without path and query.
        var summary: String
        /// When the next request may be sent.
        var due: Instant
        /// When the outage began, or its last failed attempt ended. What was sent before says nothing new.
        var since: Instant
        /// Whether the next attempt is for an event that failed before.
        var isTurnOfFailed = true
    }

    /// What becomes of an event after a failed attempt.
    enum Verdict: Sendable, Equatable {
        case retry(at: Instant)
        /// The receiver takes others, but not this one.
        case refuse(attempts: Int)
        /// A one-shot job has waited long enough.
        case giveUp(reason: String)
    }

    /// Events that failed since the last success.
    private struct Doubt {
        let began: Instant
        var events: Set<String> = []
    }

    /// So many events that fail without a success between them mean that the receiver is down.
    private static let doubtLimit = 3
    /// How long after an attempt is due only the events whose turn it is may make it.
    private static let turn: Duration = .milliseconds(200)

    private let retries: RetryPolicy.Settings
    private var backoff: Backoff
    private var attempts: EventAttempts
    private var doubt: Doubt?
    private(set) var outage: Outage?
    /// Requests that the receiver has accepted.
    private var successes = 0
    /// What has had to wait since the outage began.
    private var waiting: Set<String> = []

    /// The most that are counted in ``waiting``.
    private static let waitingLimit = 100_000

    init(_ retries: RetryPolicy.Settings, _ backoff: Backoff) {
        self.retries = retries
        self.backoff = backoff
        attempts = EventAttempts(backoff)
    }

    /// Where the outage stands; nil if there is none.
    var standing: ReceiverOutages.Standing? {
        outage.map { outage in
            ReceiverOutages.Standing(
                began: outage.began, reason: outage.summary, nextAttempt: outage.due, waiting: waiting.count)
        }
    }

    /// Notes that a document, or a content, waits for the end of the outage.
    mutating func noteWaiting(_ what: String) {
        if outage != nil, waiting.count < Self.waitingLimit { waiting.insert(what) }
    }

    /// When the request for an event may be sent; nil: now.
    func due(_ key: String, now: Instant) -> Instant? {
        guard let outage else { return nil }
        let hasTurn = attempts.isEmpty || attempts.contains(key) == outage.isTurnOfFailed
        let due = hasTurn ? outage.due : outage.due + Self.turn
        return due > now ? due : nil
    }

    /// - Parameters:
    ///   - key: Of the event.
    ///   - sent: When the request was sent.
    /// - Returns: How long the outage was that this ends; nil if there was none.
    mutating func succeed(_ key: String, sent: Instant, now: Instant) -> Duration? {
        attempts.end(key)
        successes += 1
        if let outage, sent < outage.since { return nil }
        doubt = nil
        backoff.reset()
        defer { (outage, waiting) = (nil, []) }
        return outage.map { $0.began.duration(to: now) }
    }

    /// - Parameters:
    ///   - key: Of the event.
    ///   - sent: When the request was sent.
    /// - Returns: Whether an outage begins with it, and what becomes of the event.
    mutating func fail(
        _ key: String, _ failure: ReceiverFailure, sent: Instant, now: Instant
    ) -> (isNews: Bool, verdict: Verdict) {
        let wasDown = outage != nil
        let isOfReceiver = countAgainstReceiver(key, failure, now)
        if isOfReceiver { noteOutage(failure, sent: sent, now: now) }
        var wait = Duration.zero
        if failure.cause != .receiver {
            let own = attempts.fail(key, isOfGateway: failure.cause == .gateway, successes: successes)
            if own.givesUp { return (!wasDown && outage != nil, .refuse(attempts: own.count)) }
            wait = own.wait
        }
        guard let outage else { return (false, verdict(began: doubt?.began ?? now, due: now + wait, failure, now)) }
        let due = isOfReceiver ? outage.due : max(outage.due, now + wait)
        let verdict = verdict(began: outage.began, due: due, failure, now)
        // The last attempt is made when the time is up, not later.
        if isOfReceiver, case .retry(let due) = verdict { self.outage?.due = due }
        return (!wasDown, verdict)
    }

    /// Notes a failure of an event, and returns whether the receiver is down.
    ///
    /// An event says nothing about the receiver if others succeeded since it first failed.
    private mutating func countAgainstReceiver(_ key: String, _ failure: ReceiverFailure, _ now: Instant) -> Bool {
        guard failure.cause == .event, failure.retryAfter == nil else { return true }
        guard !attempts.isSuspect(key, successes: successes) else { return false }
        if outage != nil { return true }
        var doubt = self.doubt ?? Doubt(began: now)
        doubt.events.insert(key)
        self.doubt = doubt
        return doubt.events.count >= Self.doubtLimit
    }

    private mutating func noteOutage(_ failure: ReceiverFailure, sent: Instant, now: Instant) {
        // Several requests were under way: together they are one failed attempt.
        if let outage, sent < outage.since {
            if let retryAfter = failure.retryAfter { self.outage?.due = max(outage.due, now + retryAfter) }
            return
        }
        let wait = backoff.next(atLeast: failure.retryAfter)
        let began = outage?.began ?? doubt?.began ?? now
        let isTurnOfFailed = outage.map { !$0.isTurnOfFailed } ?? true
        doubt = nil
        outage = Outage(
            began: began, reason: failure.reason, summary: failure.summary, due: now + wait, since: now,
            isTurnOfFailed: isTurnOfFailed)
    }

    /// - Parameter began: When the receiver began to fail.
    private func verdict(began: Instant, due: Instant, _ failure: ReceiverFailure, _ now: Instant) -> Verdict {
        guard !retries.isDaemon else { return .retry(at: due) }
        let left = retries.retryFor - began.duration(to: now)
        if left <= .zero { return .giveUp(reason: "gave up after \(retries.retryFor.text): \(failure.reason)") }
        if let retryAfter = failure.retryAfter, retryAfter >= left {
            return .giveUp(
                reason: "gave up: the receiver asks to wait \(retryAfter.text), longer than --retry-for allows: "
                    + failure.reason)
        }
        return .retry(at: min(due, now + left))
    }
}
