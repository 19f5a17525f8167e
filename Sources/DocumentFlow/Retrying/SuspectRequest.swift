package import GatewayClient

/// Decides whether a request that keeps failing is given up, while the gateway answers others. One per request.
///
/// A refusal is final after three attempts. A temporary failure, such as a 500 or a cut, gets ten, and up to 30 s while
/// no other request of its kind succeeds either. If the gateway asks for time (429, 503), it gets all that
/// `--retry-for` allows. If the gateway is gone after each attempt, the tenth outage counts as a failure of the request.
///
/// Once four requests of a kind are given up for the same reason and none succeeds, the next ones get three attempts,
/// and only one after `--retry-for`: thousands would each wait as long as the first.
package struct SuspectRequest: Sendable {
    /// Fewer are made only after ``retryFor`` without any success.
    private static let fewestAttempts = 3
    /// The limit for a temporary failure while no other request of its kind succeeds either.
    private static let longestSilence: Duration = .seconds(30)
    private static let longestWait: Duration = .seconds(3)

    private let retryFor: Duration
    /// Whether it is given up only if others of its kind can be read.
    private let needsOthers: Bool
    private var backoff = Backoff()
    /// Failures since the last outage that was none of its failures.
    private var attempts = 0
    /// How often the gateway was gone when it was checked after a failure.
    private var outages = 0
    /// When the first of ``attempts`` failed; nil before that.
    private var since: ContinuousClock.Instant?
    /// How many other requests of its kind had succeeded at ``since``.
    private var successesBefore = 0
    /// All failures, for halving a request for several items. Outages do not reset it.
    private var failures = 0

    /// - Parameters:
    ///   - retryFor: `--retry-for`: also the longest wait between two attempts.
    ///   - needsOthers: Whether it is given up only if others of its kind can be read.
    package init(retryFor: Duration, needsOthers: Bool = false) {
        self.retryFor = retryFor
        self.needsOthers = needsOthers
        backoff.cap = Self.longestWait
    }

    /// For half of a request. Several items get fewer attempts, because the first failures were already waited for.
    package func half(items: Int) -> SuspectRequest {
        var half = SuspectRequest(retryFor: retryFor, needsOthers: needsOthers)
        half.failures = items > 1 ? AttemptLimits.failuresBeforeHalving - 1 : 0
        return half
    }

    /// The gateway was gone. Up to nine times this is no failure of this request.
    ///
    /// - Returns: True from the tenth outage on, because the request seems to take the gateway down. It then counts as a
    ///   failure: go on to ``advice(after:items:_:now:)``.
    package mutating func noteOutage() -> Bool {
        outages += 1
        guard outages < AttemptLimits.failures else { return true }
        (attempts, since) = (0, nil)
        backoff.reset()
        return false
    }

    /// Counts a failure and says what follows. If others must be readable and none has arrived, it asks for that.
    ///
    /// - Parameters:
    ///   - items: How many attachments, documents or revisions the request is for.
    ///   - history: Of the requests of its kind.
    package mutating func advice(
        after error: GatewayError, items: Int = 1, _ history: inout RequestHistory,
        now: ContinuousClock.Instant = .now
    ) -> ReadAdvice {
        failures += 1
        attempts += 1
        history.noteFailure(now: now)
        if since == nil { (since, successesBefore) = (now, history.successes) }
        guard items == 1 else { return failures >= AttemptLimits.failuresBeforeHalving ? .halve : .wait }
        guard isHopeless(error, history, now) else { return .wait }
        if needsOthers, history.successes == 0 { return .ask(.areOthersReadable) }
        history.noteGivenUp(error)
        return .giveUp
    }

    private func isHopeless(
        _ error: GatewayError, _ history: RequestHistory, _ now: ContinuousClock.Instant
    ) -> Bool {
        if !needsOthers, history.allFail(with: error) {
            return attempts >= Self.fewestAttempts || history.silence(now: now) >= retryFor
        }
        let trouble = (since ?? now).duration(to: now)
        return switch error.prospect {
        case .refused: attempts >= Self.fewestAttempts
        case .mayPass:
            attempts >= AttemptLimits.failures
                && (history.successes > successesBefore || trouble >= min(retryFor, Self.longestSilence))
                || attempts >= Self.fewestAttempts && trouble >= retryFor
        case .asksForTime: attempts >= Self.fewestAttempts && trouble >= retryFor
        }
    }

    /// How long to wait before the next attempt: up to 3 s, longer only for a `Retry-After`.
    package mutating func wait(after error: GatewayError) -> Duration {
        min(backoff.next(atLeast: error.retryAfter), max(retryFor, .milliseconds(100)))
    }
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
