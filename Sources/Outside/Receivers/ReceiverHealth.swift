internal import DocumentFlow

/// Whether a webhook receiver or an attachment server is up, judged by its last requests.
///
/// A value without a clock: the caller passes the time. While the receiver is down, nothing is sent until the next
/// attempt is due. Attempts alternate between events that have failed and events that have not. So a receiver that
/// fails once for each event recovers at once, and an event that always fails does not block the others.
struct ReceiverHealth: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A period in which the receiver accepts no requests.
    struct Outage: Sendable {
        let began: Instant
        /// The last error, for users.
        var reason: String
        /// The last error without path and query.
        var summary: String
        /// When the next request may be sent.
        var due: Instant
        /// When the outage began, or its last failed attempt ended. Requests sent before that prove nothing.
        var since: Instant
        /// Whether the next attempt is for an event that failed before.
        var failedEventIsNext = true
    }

    /// What happens to an event after a failed attempt.
    enum Verdict: Sendable, Equatable {
        case retry(at: Instant)
        /// The receiver accepts other events, but not this one.
        case refuse(attempts: Int)
        /// A one-shot job has waited for `--retry-for`.
        case giveUp(reason: String)
    }

    /// Events that failed since the last success.
    private struct FailureStreak {
        let began: Instant
        var events: Set<String> = []
    }

    /// The receiver counts as down after this many different events failed without a success between them.
    private static let streakLimit = 3
    /// How long a due attempt is reserved for the kind of event whose turn it is.
    private static let reservation: Duration = .milliseconds(200)

    private let retries: RetryPolicy.Settings
    private var backoff: Backoff
    private var attempts: EventAttempts
    private var streak: FailureStreak?
    private(set) var outage: Outage?
    /// Requests that the receiver has accepted.
    private var successes = 0
    /// Documents and contents that have waited since the outage began.
    private var waiting: Set<String> = []

    /// The maximum number of entries of ``waiting``.
    private static let waitingLimit = 100_000

    init(_ retries: RetryPolicy.Settings, _ backoff: Backoff) {
        self.retries = retries
        self.backoff = backoff
        attempts = EventAttempts(backoff)
    }

    /// Nil if the receiver is up.
    var status: ReceiverOutages.Status? {
        outage.map { outage in
            ReceiverOutages.Status(
                began: outage.began, reason: outage.summary, nextAttempt: outage.due, waiting: waiting.count)
        }
    }

    /// Notes that a document or a content waits for the end of the outage.
    mutating func noteWaiting(_ what: String) {
        if outage != nil, waiting.count < Self.waitingLimit { waiting.insert(what) }
    }

    /// When the request for an event may be sent; nil: now.
    func due(_ key: String, now: Instant) -> Instant? {
        guard let outage else { return nil }
        let isNext = attempts.isEmpty || attempts.contains(key) == outage.failedEventIsNext
        let due = isNext ? outage.due : outage.due + Self.reservation
        return due > now ? due : nil
    }

    /// - Parameters:
    ///   - key: The event's key.
    ///   - sent: When the request was sent.
    /// - Returns: The length of the outage that this ends. Nil if there was none.
    mutating func succeed(_ key: String, sent: Instant, now: Instant) -> Duration? {
        attempts.end(key)
        successes += 1
        if let outage, sent < outage.since { return nil }
        streak = nil
        backoff.reset()
        defer { (outage, waiting) = (nil, []) }
        return outage.map { $0.began.duration(to: now) }
    }

    /// - Parameters:
    ///   - key: The event's key.
    ///   - sent: When the request was sent.
    /// - Returns: Whether an outage begins with this failure, and what happens to the event.
    mutating func fail(
        _ key: String, _ failure: ReceiverFailure, sent: Instant, now: Instant
    ) -> (shouldLog: Bool, verdict: Verdict) {
        let wasDown = outage != nil
        let countsAgainstReceiver = countAgainstReceiver(key, failure, now)
        if countsAgainstReceiver { noteOutage(failure, sent: sent, now: now) }
        var wait = Duration.zero
        if failure.cause != .receiver {
            let own = attempts.fail(key, isFromGateway: failure.cause == .gateway, successes: successes)
            if own.givesUp { return (!wasDown && outage != nil, .refuse(attempts: own.count)) }
            wait = own.wait
        }
        guard let outage else { return (false, verdict(began: streak?.began ?? now, due: now + wait, failure, now)) }
        let due = countsAgainstReceiver ? outage.due : max(outage.due, now + wait)
        let verdict = verdict(began: outage.began, due: due, failure, now)
        // The last attempt of a one-shot job is made when its time is up, not later.
        if countsAgainstReceiver, case .retry(let due) = verdict { self.outage?.due = due }
        return (!wasDown, verdict)
    }

    /// Notes a failure of an event, and returns whether the receiver is down.
    ///
    /// A failed event does not count against the receiver if others succeeded since the event first failed.
    private mutating func countAgainstReceiver(_ key: String, _ failure: ReceiverFailure, _ now: Instant) -> Bool {
        guard failure.cause == .event, failure.retryAfter == nil else { return true }
        guard !attempts.isSuspect(key, successes: successes) else { return false }
        if outage != nil { return true }
        var streak = self.streak ?? FailureStreak(began: now)
        streak.events.insert(key)
        self.streak = streak
        return streak.events.count >= Self.streakLimit
    }

    private mutating func noteOutage(_ failure: ReceiverFailure, sent: Instant, now: Instant) {
        // Requests that were in flight together count as one failed attempt.
        if let outage, sent < outage.since {
            if let retryAfter = failure.retryAfter { self.outage?.due = max(outage.due, now + retryAfter) }
            return
        }
        let wait = backoff.next(atLeast: failure.retryAfter)
        let began = outage?.began ?? streak?.began ?? now
        let failedEventIsNext = outage.map { !$0.failedEventIsNext } ?? true
        streak = nil
        outage = Outage(
            began: began, reason: failure.reason, summary: failure.summary, due: now + wait, since: now,
            failedEventIsNext: failedEventIsNext)
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
