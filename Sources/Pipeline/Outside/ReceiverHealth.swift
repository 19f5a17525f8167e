internal import DocumentFlow

/// Whether a receiver of webhooks answers, as far as its last requests show.
///
/// A value without a clock: the caller passes the time. While the receiver is down, nothing is sent to it until the next
/// attempt is due.
struct ReceiverHealth: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Why a request failed that may succeed later.
    enum Failure: Sendable {
        /// The receiver serves nobody: no connection, no answer in time, overload.
        case ofReceiver
        /// The event may be the cause.
        case suspect
    }

    /// A period in which the receiver serves nobody.
    struct Outage: Sendable {
        let began: Instant
        /// The last error, for people.
        var reason: String
        /// When the next request may be sent.
        var due: Instant
        /// When the outage began, or its last failed attempt ended. What was sent before says nothing new.
        var since: Instant
    }

    /// What to do next.
    enum Step: Sendable {
        case retry(at: Instant)
        /// A one-shot job has waited long enough.
        case giveUp(reason: String)
    }

    /// So many suspect failures without a success between them mean that the receiver is down.
    private static let suspectsInARow = 3

    private let retries: RetryPolicy.Settings
    private var backoff: Backoff
    private var suspects = 0
    private(set) var outage: Outage?
    /// Requests that the receiver has accepted.
    private(set) var successes = 0

    init(_ retries: RetryPolicy.Settings, _ backoff: Backoff) {
        self.retries = retries
        self.backoff = backoff
    }

    /// When the next request may be sent; nil: now.
    func due(now: Instant) -> Instant? {
        guard let outage, outage.due > now else { return nil }
        return outage.due
    }

    /// - Parameter sent: When the request was sent.
    /// - Returns: How long the outage was that this ends; nil if there was none.
    mutating func succeed(sent: Instant, now: Instant) -> Duration? {
        successes += 1
        if let outage, sent < outage.since { return nil }
        suspects = 0
        backoff.reset()
        defer { outage = nil }
        return outage.map { $0.began.duration(to: now) }
    }

    /// - Parameters:
    ///   - retryAfter: How long the receiver asks to wait.
    ///   - sent: When the request was sent.
    /// - Returns: Whether an outage begins with it, and when the receiver may be asked again.
    mutating func fail(
        _ failure: Failure, reason: String, retryAfter: Duration?, sent: Instant, now: Instant
    ) -> (isNews: Bool, step: Step) {
        if case .suspect = failure, retryAfter == nil {
            suspects += 1
            guard suspects >= Self.suspectsInARow else { return (false, .retry(at: outage?.due ?? now)) }
        }
        // Several requests were under way: together they are one failed attempt.
        if var outage, sent < outage.since {
            if let retryAfter { outage.due = max(outage.due, now + retryAfter) }
            self.outage = outage
            return (false, step(after: outage, retryAfter, now))
        }
        suspects = 0
        let wait = backoff.next(atLeast: retryAfter)
        let isNews = outage == nil
        let current = Outage(began: outage?.began ?? now, reason: reason, due: now + wait, since: now)
        outage = current
        return (isNews, step(after: current, retryAfter, now))
    }

    private mutating func step(after outage: Outage, _ retryAfter: Duration?, _ now: Instant) -> Step {
        guard !retries.isDaemon else { return .retry(at: outage.due) }
        let left = retries.retryFor - outage.began.duration(to: now)
        if left <= .zero { return .giveUp(reason: "gave up after \(retries.retryFor.text): \(outage.reason)") }
        if let retryAfter, retryAfter >= left {
            return .giveUp(
                reason: "gave up: the receiver asks to wait \(retryAfter.text), longer than --retry-for allows: "
                    + outage.reason)
        }
        // The last attempt is made when the time is up, not later.
        self.outage?.due = min(outage.due, now + left)
        return .retry(at: self.outage?.due ?? outage.due)
    }
}

/// How often the request for one event failed, so that one event which a receiver can't take does not wait for ever.
struct EventAttempts: Sendable {
    /// An event is given up after so many failures, if the receiver took others since the first one.
    static let limit = 8
    /// The same for answers of what stands in for a receiver, such as 503 of a proxy.
    static let gatewayLimit = 30
    /// The most events that are remembered. Beyond that, counts begin again.
    private static let capacity = 10_000

    private struct Failures {
        var suspect = 0
        var ofGateway = 0
        let successesBefore: Int
        var backoff: Backoff
    }

    private let backoff: Backoff
    private var failures: [String: Failures] = [:]

    /// - Parameter backoff: How long an event waits beyond its receiver.
    init(_ backoff: Backoff) { self.backoff = backoff }

    /// Counts a failed attempt.
    ///
    /// - Parameters:
    ///   - key: Of the event.
    ///   - isOfGateway: Whether the answer is that of an overloaded receiver or of a proxy.
    ///   - successes: Requests that the receiver has accepted so far.
    /// - Returns: Whether to give the event up, and if not, how long it waits beyond the receiver itself: so that
    ///   another event is the next attempt.
    mutating func fail(_ key: String, isOfGateway: Bool, successes: Int) -> (givesUp: Bool, wait: Duration) {
        if failures.count >= Self.capacity { failures = [:] }
        var own = failures[key] ?? Failures(successesBefore: successes, backoff: backoff)
        if isOfGateway { own.ofGateway += 1 } else { own.suspect += 1 }
        let takesOthers = successes > own.successesBefore
        let givesUp = takesOthers && (own.suspect >= Self.limit || own.ofGateway >= Self.gatewayLimit)
        let wait = own.backoff.next(atLeast: backoff.base / 10)
        failures[key] = givesUp ? nil : own
        return (givesUp, wait)
    }

    /// How many failures are counted for an event.
    func count(_ key: String) -> Int { failures[key].map { $0.suspect + $0.ofGateway } ?? 0 }

    /// The event is settled.
    mutating func end(_ key: String) { failures[key] = nil }
}
