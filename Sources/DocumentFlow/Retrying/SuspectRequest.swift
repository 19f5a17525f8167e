package import GatewayClient
internal import Locking

/// Decides whether a request that keeps failing is given up, while the gateway answers others.
///
/// A refusal is final after three attempts. A temporary failure, such as a 500 or a cut, gets ten, and up to 30 s while
/// no other request of its kind succeeds either. If the gateway asks for time (429, 503), it gets all that
/// `--retry-for` allows. A request after which the gateway is gone each time has failed from the tenth outage on.
package struct SuspectRequest: Sendable {
    private static let refusals = 3
    /// The limit for a temporary failure while no other request of its kind succeeds either.
    private static let longestSilence: Duration = .seconds(30)
    private static let longestWait: Duration = .seconds(3)

    private let retryFor: Duration
    private var backoff = Backoff()
    private var attempts = 0
    /// How often the gateway was gone when it was checked after a failure.
    private var outages = 0
    private var since: ContinuousClock.Instant?
    /// How many other requests of its kind had succeeded when this one first failed.
    private var successesBefore = 0
    /// Whether to give the request up.
    package private(set) var mustGiveUp = false

    /// - Parameter retryFor: `--retry-for`: also the longest wait between two attempts.
    package init(retryFor: Duration) {
        self.retryFor = retryFor
        backoff.cap = Self.longestWait
    }

    /// The gateway was gone. Up to nine times this is no failure of this request.
    ///
    /// - Returns: Whether it is one: the request seems to take the gateway down. Then the caller notes the failure.
    package mutating func noteOutage() -> Bool {
        outages += 1
        guard outages < AttemptLimits.failures else { return true }
        (attempts, since) = (0, nil)
        backoff.reset()
        return false
    }

    /// Counts a failure and updates ``mustGiveUp``.
    ///
    /// - Parameter successes: How many other requests of its kind have succeeded by now.
    package mutating func noteFailure(
        _ error: GatewayError, successes: Int, now: ContinuousClock.Instant = .now
    ) {
        attempts += 1
        if since == nil { (since, successesBefore) = (now, successes) }
        let trouble = (since ?? now).duration(to: now)
        mustGiveUp =
            switch error.prospect {
            case .refused: attempts >= Self.refusals
            case .mayPass:
                attempts >= AttemptLimits.failures
                    && (successes > successesBefore || trouble >= min(retryFor, Self.longestSilence))
                    || attempts >= Self.refusals && trouble >= retryFor
            case .asksForTime: attempts >= Self.refusals && trouble >= retryFor
            }
    }

    /// How long to wait before the next attempt: up to 3 s, longer only for a `Retry-After`.
    package mutating func wait(after error: GatewayError) -> Duration {
        min(backoff.next(atLeast: error.retryAfter), max(retryFor, .milliseconds(100)))
    }
}

/// How many requests of one kind have succeeded.
package final class Arrivals: Sendable {
    private let locked = Locked(0)

    /// Starts at zero.
    package init() {}

    /// Successes so far.
    package var count: Int { locked.withLock { $0 } }

    /// Counts one success.
    package func note() { locked.withLock { $0 += 1 } }
}

extension GatewayError {
    fileprivate enum Prospect { case refused, mayPass, asksForTime }

    fileprivate var prospect: Prospect {
        switch code {
        case .tooManyRequests: .asksForTime
        case .unavailable where status == 503 || retryAfter != nil: .asksForTime
        // What this server does not support now, it will not support later.
        case .serverError where status == 501 || status == 505: .refused
        case .malformedAnswer, .digestMismatch: .refused
        default: isRetryable ? .mayPass : .refused
        }
    }
}
