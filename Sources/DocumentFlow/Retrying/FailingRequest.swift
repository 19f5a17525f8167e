package import GatewayClient

/// Decides when to give up a request that keeps failing while the gateway answers others. One per request.
///
/// - A refusal is final after three attempts.
/// - A temporary failure, such as a 500 or a lost connection, gets ten attempts, and up to 30 s while no other request
///   of its kind succeeds.
/// - If the gateway requests a delay (429, 503), the request gets the whole time of `--retry-for`.
/// - If the gateway is unreachable after each attempt, the tenth outage counts as a failure of the request.
///
/// Once four requests of a kind are given up for the same reason and none succeeds, later ones get three attempts, and
/// after `--retry-for` only one. Otherwise thousands would each wait as long as the first.
package struct FailingRequest: Sendable {
    /// Fewer attempts are made only after ``retryFor`` without any success.
    private static let minAttempts = 3
    /// The time limit for a temporary failure while no other request of its kind succeeds.
    private static let maxSilence: Duration = .seconds(30)
    private static let maxWait: Duration = .seconds(3)

    private let retryFor: Duration
    /// Whether it is given up only if others of its kind can be read.
    private let requiresOtherSuccess: Bool
    private var backoff = Backoff()
    /// Failures since the last outage that did not count as a failure.
    private var attempts = 0
    /// How often the gateway was unreachable when checked after a failure.
    private var outages = 0
    /// When the first of ``attempts`` failed. Nil before that.
    private var since: ContinuousClock.Instant?
    /// The successes of other requests of its kind at ``since``.
    private var successesBefore = 0
    /// All failures, for halving a request for several items. Not reset by outages.
    private var failures = 0

    /// - Parameters:
    ///   - retryFor: `--retry-for`. Also the longest wait between two attempts.
    ///   - requiresOtherSuccess: Whether it is given up only if others of its kind can be read.
    package init(retryFor: Duration, requiresOtherSuccess: Bool = false) {
        self.retryFor = retryFor
        self.requiresOtherSuccess = requiresOtherSuccess
        backoff.cap = Self.maxWait
    }

    /// For half of a request. Several items get fewer attempts, because the first failures have already been waited
    /// for.
    package func half(items: Int) -> FailingRequest {
        var half = FailingRequest(retryFor: retryFor, requiresOtherSuccess: requiresOtherSuccess)
        half.failures = items > 1 ? AttemptLimits.minFailuresForHalving - 1 : 0
        return half
    }

    /// Records that the gateway was unreachable. The first nine times this does not count as a failure of this request.
    ///
    /// - Returns: True from the tenth outage on, because the request seems to bring the gateway down. It then counts as
    ///   a failure: call ``advice(after:items:_:now:)``.
    package mutating func noteOutage() -> Bool {
        outages += 1
        guard outages < AttemptLimits.failures else { return true }
        (attempts, since) = (0, nil)
        backoff.reset()
        return false
    }

    /// Counts a failure and returns what to do. If other items must be readable and none has arrived, asks for that.
    ///
    /// - Parameters:
    ///   - items: The number of attachments, documents or revisions of the request.
    ///   - history: The history of its kind of request.
    package mutating func advice(
        after error: GatewayError, items: Int = 1, _ history: inout RequestHistory,
        now: ContinuousClock.Instant = .now
    ) -> ReadAdvice {
        failures += 1
        attempts += 1
        history.noteFailure(now: now)
        if since == nil { (since, successesBefore) = (now, history.successes) }
        guard items == 1 else { return failures >= AttemptLimits.minFailuresForHalving ? .halve : .wait }
        guard isHopeless(error, history, now) else { return .wait }
        if requiresOtherSuccess, history.successes == 0 { return .ask(.othersAreReadable) }
        history.noteGivenUp(error)
        return .giveUp
    }

    private func isHopeless(
        _ error: GatewayError, _ history: RequestHistory, _ now: ContinuousClock.Instant
    ) -> Bool {
        if !requiresOtherSuccess, history.allRequestsFail(with: error) {
            return attempts >= Self.minAttempts || history.timeWithoutSuccess(now: now) >= retryFor
        }
        let failingTime = (since ?? now).duration(to: now)
        return switch error.retryability {
        case .refused: attempts >= Self.minAttempts
        case .mayPass:
            attempts >= AttemptLimits.failures
                && (history.successes > successesBefore || failingTime >= min(retryFor, Self.maxSilence))
                || attempts >= Self.minAttempts && failingTime >= retryFor
        case .asksForTime: attempts >= Self.minAttempts && failingTime >= retryFor
        }
    }

    /// The wait before the next attempt: up to 3 s, longer only for a `Retry-After`.
    package mutating func wait(after error: GatewayError) -> Duration {
        min(backoff.next(atLeast: error.retryAfter), max(retryFor, .milliseconds(100)))
    }
}

extension GatewayError {
    fileprivate enum Retryability { case refused, mayPass, asksForTime }

    fileprivate var retryability: Retryability {
        switch code {
        case .tooManyRequests: .asksForTime
        case .unavailable where status == 503 || retryAfter != nil: .asksForTime
        // A server does not gain support for a request later.
        case .serverError where status == 501 || status == 505: .refused
        case .malformedAnswer, .digestMismatch: .refused
        default: isRetryable ? .mayPass : .refused
        }
    }
}
