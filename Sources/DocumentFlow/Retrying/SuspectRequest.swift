package import GatewayClient

/// Decides whether a request that fails time after time is given up, while the gateway answers others.
///
/// An answer that says no is asked for three times. What may pass, such as a 500 or a cut, is given more time, and the
/// more so as long as no other request of its kind has succeeded. Where the gateway itself asks for time (429, 503),
/// it gets all that `--retry-for` allows.
package struct SuspectRequest: Sendable {
    private static let refusals = 3
    private static let failures = 10
    /// For what may pass, while nothing else of its kind comes either.
    private static let longestSilence: Duration = .seconds(30)
    private static let longestWait: Duration = .seconds(3)

    private let retryFor: Duration
    private var backoff = Backoff()
    private var attempts = 0
    /// With the gateway gone in between.
    private var outages = 0
    private var since: ContinuousClock.Instant?
    /// Other requests of its kind that had succeeded when this one failed first.
    private var successesBefore = 0
    package private(set) var isToBlame = false

    package init(retryFor: Duration) {
        self.retryFor = retryFor
        backoff.cap = Self.longestWait
    }

    /// The gateway was gone: no failure of this request, unless the gateway goes each time that it is asked.
    package mutating func noteOutage() {
        outages += 1
        guard outages < Self.failures else { return }
        (attempts, since) = (0, nil)
        backoff.reset()
    }

    /// - Parameter successes: How many other requests of its kind have succeeded by now.
    package mutating func noteFailure(
        _ error: GatewayError, successes: Int, now: ContinuousClock.Instant = .now
    ) {
        attempts += 1
        if since == nil { (since, successesBefore) = (now, successes) }
        let trouble = (since ?? now).duration(to: now)
        isToBlame =
            switch error.prospect {
            case .refused: attempts >= Self.refusals
            case .mayPass:
                attempts >= Self.failures
                    && (successes > successesBefore || trouble >= min(retryFor, Self.longestSilence))
                    || attempts >= Self.refusals && trouble >= retryFor
            case .asksForTime: attempts >= Self.refusals && trouble >= retryFor
            }
    }

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
        // What this one can't do now, it can't do later.
        case .serverError where status == 501 || status == 505: .refused
        case .malformedAnswer, .digestMismatch: .refused
        default: isRetryable ? .mayPass : .refused
        }
    }
}
