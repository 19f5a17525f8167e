package import GatewayClient

/// Decides after each failed request whether to try again, when, or to end the run. One per task that sends requests.
///
/// A daemon retries every temporary failure for ever, a one-shot job until requests have failed for `retryFor`. At its
/// first contact a one-shot job gives up at once if it can't connect, unless it `waitsForFirstContact`; both give up at
/// once if TLS fails then.
package struct RetryPolicy: Sendable {
    /// How long to retry.
    package struct Settings: Sendable {
        /// A daemon never gives up on temporary failures.
        package var isDaemon = false
        /// How long a one-shot job retries. Counted from the first failure after the last success.
        package var retryFor: Duration = .seconds(300)
        /// Whether `retryFor` also applies to the first contact.
        package var waitsForFirstContact = false
        /// Shared by all tasks of the run.
        package let outage = Outage()
        /// Told of each request that is sent again. Nil: nobody.
        package var observer: (any RunObserver)?

        /// A one-shot job that retries for five minutes.
        package init() {}
    }

    /// What to do after a failure.
    package enum NextStep: Sendable {
        case retry(after: Duration)
        case end(RunError)
    }

    /// How long a daemon tolerates 401 after a successful login. The file and the gateway change one after the other,
    /// and CouchDB refuses everybody for about a second when an administrator's password is set.
    private static let longestRefusal: Duration = .seconds(10)
    /// The wait after a 401: an earlier retry would be refused for the same reason.
    private static let waitAfterRefusal: Duration = .seconds(2)

    /// Fixed for the life of the policy.
    package let settings: Settings
    private var backoff: Backoff
    private var hasSucceeded: Bool
    private var troubleSince: ContinuousClock.Instant?
    private var lastCode: GatewayError.Code?
    private var sameCodeInARow = 0
    private var sameCodeSince: ContinuousClock.Instant?

    /// - Parameter hasSucceeded: Whether another task has already had a valid answer from this gateway.
    package init(_ settings: Settings, hasSucceeded: Bool = false, backoff: Backoff = Backoff()) {
        self.settings = settings
        self.hasSucceeded = hasSucceeded
        self.backoff = backoff
    }

    /// A valid answer arrived: earlier failures no longer count.
    package mutating func succeed() {
        hasSucceeded = true
        troubleSince = nil
        (lastCode, sameCodeSince) = (nil, nil)
        sameCodeInARow = 0
        backoff.reset()
    }

    /// How a run ends after an error that no retry can change.
    private static func end(_ error: GatewayError) -> RunError.Code {
        switch error.code {
        case .outOfResources, .sourceFailed: .outOfResources
        case _ where error.cause == .badSequence || error.status == 400: .sequenceRefused
        default: .notAGateway
        }
    }

    /// Counts a failure and decides whether to retry. The wait is random up to a growing limit, and never shorter than
    /// `Retry-After`.
    package mutating func nextStep(after error: GatewayError, now: ContinuousClock.Instant = .now) -> NextStep {
        (sameCodeInARow, sameCodeSince) = error.code == lastCode ? (sameCodeInARow + 1, sameCodeSince) : (1, now)
        lastCode = error.code
        let since = troubleSince ?? now
        troubleSince = since

        switch error.code {
        // The password may just have changed, or the session may have expired: retry once, a daemon for ten seconds.
        case .unauthorized where hasSucceeded && (sameCodeInARow == 1 || mayBePassing(since: sameCodeSince, now)): break
        // Sync Gateway's answer when the database is gone, which it is for a while when it is created anew.
        case .unauthorized where hasSucceeded && settings.isDaemon && error.cause == .unknownDatabaseOrLogin: break
        case .forbidden where hasSucceeded && settings.isDaemon && sameCodeInARow < 3: break
        case .unauthorized, .forbidden: return .end(RunError(.notAllowed, error.description))
        case .notFound where !(hasSucceeded && (settings.isDaemon || sameCodeInARow < 3)):
            return .end(RunError(.databaseMissing, error.description))
        case .notFound: break
        case .malformedAnswer where !hasSucceeded && sameCodeInARow >= 3:
            return .end(RunError(.notAGateway, error.description))
        case .tlsFailed where !hasSucceeded: return .end(RunError(.unreachable, error.description))
        case .cannotConnect where !hasSucceeded && !settings.isDaemon && !settings.waitsForFirstContact:
            return .end(RunError(.unreachable, "\(error); to wait for it, add --retry-for 5m"))
        case .tlsFailed: break
        case .invalidRequest: return .end(RunError(.badConfiguration, error.description))
        // Requests succeeded before: a stray status must not end a daemon.
        case _ where !error.isRetryable && !(settings.isDaemon && hasSucceeded && error.cause != .badSequence):
            return .end(RunError(Self.end(error), error.description))
        default: break
        }
        let left = settings.retryFor - since.duration(to: now)
        if !settings.isDaemon, left <= .zero {
            return .end(RunError(.gaveUp, "gave up after \(settings.retryFor.text): \(error)"))
        }
        if !settings.isDaemon, let asked = error.retryAfter, asked >= left {
            let reason = "gave up: the gateway asks to wait \(asked.text), longer than --retry-for allows: \(error)"
            return .end(RunError(.gaveUp, reason))
        }
        let shortest = error.code == .unauthorized ? Self.waitAfterRefusal : nil
        let wait = backoff.next(atLeast: error.retryAfter ?? shortest)
        guard !settings.isDaemon else { return .retry(after: wait) }
        // The last attempt is made when the time is up, not later.
        return .retry(after: min(wait, left))
    }

    private func mayBePassing(since first: ContinuousClock.Instant?, _ now: ContinuousClock.Instant) -> Bool {
        settings.isDaemon && first.map { $0.duration(to: now) < Self.longestRefusal } ?? false
    }
}
