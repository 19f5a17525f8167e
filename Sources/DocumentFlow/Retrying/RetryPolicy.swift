package import GatewayClient

/// Decides after each failed request whether and when to try again, or to end the run. One per task.
///
/// A daemon retries temporary failures forever; a one-shot job until requests have failed for `retryFor`. At its first
/// contact, a one-shot job gives up at once if it can't connect, unless it `waitsForFirstContact`. Both give up at once
/// if TLS fails at the first contact.
package struct RetryPolicy: Sendable {
    /// How long to retry.
    package struct Settings: Sendable {
        /// A daemon never gives up on temporary failures.
        package var isDaemon = false
        /// How long a one-shot job retries, counted from the first failure after the last success.
        package var retryFor: Duration = .seconds(300)
        /// Whether `retryFor` also applies to the first contact.
        package var waitsForFirstContact = false
        /// Whether a daemon waits for a database that is missing after earlier successes. Otherwise the run ends, so that
        /// nothing that it was about to write gets into a new database of this name.
        package var waitsForMissingDatabase = true
        /// Shared by all tasks of the run.
        package let outage = Outage()
        /// Notified of each request that is sent again. Nil: none.
        package var observer: (any RunObserver)?
        /// Called before each request that changes something. Throws if this process may no longer act. Nil: it always
        /// may.
        package var requireTenure: (@Sendable () throws -> Void)?

        /// A one-shot job that retries for five minutes.
        package init() {}

        /// The same settings for another run, which has its own outages.
        package func ofOtherRun(observer: (any RunObserver)?) -> Settings {
            var other = Settings()
            (other.isDaemon, other.retryFor) = (isDaemon, retryFor)
            (other.waitsForFirstContact, other.requireTenure) = (waitsForFirstContact, requireTenure)
            other.waitsForMissingDatabase = waitsForMissingDatabase
            other.observer = observer
            return other
        }
    }

    /// What to do after a failure.
    package enum NextStep: Sendable {
        case retry(after: Duration)
        case end(RunError)
    }

    /// How long a daemon tolerates 401 after a successful login. A password is changed in the gateway and in the file
    /// at different times, and CouchDB refuses all users for about a second when an administrator's password is set.
    private static let maxRefusalTime: Duration = .seconds(10)
    /// The wait after a 401: an earlier retry would be refused for the same reason.
    private static let waitAfterRefusal: Duration = .seconds(2)

    /// Fixed for the life of the policy.
    package let settings: Settings
    private var backoff: Backoff
    private var hasSucceeded: Bool
    private var failingSince: ContinuousClock.Instant?
    private var lastCode: GatewayError.Code?
    private var sameCodeCount = 0
    private var sameCodeSince: ContinuousClock.Instant?

    /// - Parameter hasSucceeded: Whether another task has already received a valid answer from this gateway.
    package init(_ settings: Settings, hasSucceeded: Bool = false, backoff: Backoff = Backoff()) {
        self.settings = settings
        self.hasSucceeded = hasSucceeded
        self.backoff = backoff
    }

    /// The policy for a gateway that has already answered this run.
    package static func forKnownGateway(_ settings: Settings) -> RetryPolicy {
        RetryPolicy(settings, hasSucceeded: true)
    }

    /// Records a valid answer: earlier failures no longer count.
    package mutating func succeed() {
        hasSucceeded = true
        failingSince = nil
        (lastCode, sameCodeSince) = (nil, nil)
        sameCodeCount = 0
        backoff.reset()
    }

    /// Counts a failure and decides whether to retry. The wait is random up to a growing limit, and at least
    /// `Retry-After`.
    package mutating func nextStep(after error: GatewayError, now: ContinuousClock.Instant = .now) -> NextStep {
        note(error, now)
        if let end = end(after: error, now) { return .end(end) }
        return settings.isDaemon ? .retry(after: nextWait(after: error)) : retryInTime(after: error, now)
    }

    private mutating func note(_ error: GatewayError, _ now: ContinuousClock.Instant) {
        (sameCodeCount, sameCodeSince) =
            error.code == lastCode ? (sameCodeCount + 1, sameCodeSince) : (1, now)
        lastCode = error.code
        failingSince = failingSince ?? now
    }

    // MARK: - Errors that end the run

    /// How the run ends at once. Nil if a retry makes sense.
    private func end(after error: GatewayError, _ now: ContinuousClock.Instant) -> RunError? {
        switch error.code {
        case .unauthorized, .forbidden:
            return isRefusalTemporary(error, now) ? nil : RunError(.notAllowed, error.description)
        case .notFound:
            let isGone = error.cause == .databaseMissing && !settings.waitsForMissingDatabase
            let mayRecover = hasSucceeded && !isGone && (settings.isDaemon || sameCodeCount < 3)
            return mayRecover ? nil : RunError(.databaseMissing, error.description)
        case .malformedAnswer where !hasSucceeded && sameCodeCount >= 3:
            return RunError(.notAGateway, error.description)
        case .tlsFailed: return hasSucceeded ? nil : RunError(.unreachable, error.description)
        case .cannotConnect where !hasSucceeded && !settings.isDaemon && !settings.waitsForFirstContact:
            return RunError(.unreachable, "\(error); to wait for it, add --retry-for 5m")
        case .invalidRequest: return RunError(.badConfiguration, error.description)
        // After earlier successes, a stray status must not end a daemon.
        case _ where settings.isDaemon && hasSucceeded && error.cause != .badSequence: return nil
        default: return error.isRetryable ? nil : RunError(Self.code(ofPermanent: error), error.description)
        }
    }

    /// Whether refused credentials may be accepted later, because they were accepted before.
    private func isRefusalTemporary(_ error: GatewayError, _ now: ContinuousClock.Instant) -> Bool {
        guard hasSucceeded else { return false }
        switch error.code {
        // Sync Gateway's answer for a missing database, which may be about to be recreated.
        case .unauthorized where settings.isDaemon && error.cause == .unknownDatabaseOrLogin: return true
        // Nothing was sent, and the second attempt is pending.
        case .unauthorized where error.isHeldBack && error.retryAfter != nil:
            return settings.isDaemon || error.retryAfter.map { $0 < settings.retryFor } ?? false
        // The password may have changed, or the session expired: retry once, a daemon for ten seconds.
        case .unauthorized where settings.isDaemon:
            return sameCodeCount == 1 || sameCodeSince.map { $0.duration(to: now) < Self.maxRefusalTime } ?? false
        case .unauthorized: return sameCodeCount == 1
        default: return settings.isDaemon && sameCodeCount < 3
        }
    }

    /// How a run ends after an error that no retry can change.
    private static func code(ofPermanent error: GatewayError) -> RunError.Code {
        switch error.code {
        case .outOfResources, .sourceFailed: .outOfResources
        case _ where error.cause == .badSequence || error.status == 400: .sequenceRefused
        default: .notAGateway
        }
    }

    // MARK: - Retries

    /// The next attempt of a one-shot job, or its end if the time is up.
    private mutating func retryInTime(after error: GatewayError, _ now: ContinuousClock.Instant) -> NextStep {
        let left = settings.retryFor - (failingSince ?? now).duration(to: now)
        if left <= .zero { return .end(RunError(.gaveUp, "gave up after \(settings.retryFor.text): \(error)")) }
        if let asked = error.retryAfter, asked >= left {
            let reason = "gave up: the gateway asks to wait \(asked.text), longer than --retry-for allows: \(error)"
            return .end(RunError(.gaveUp, reason))
        }
        // The last attempt happens when the time is up, not later.
        return .retry(after: min(nextWait(after: error), left))
    }

    private mutating func nextWait(after error: GatewayError) -> Duration {
        // A changed password is read soon, even while requests with the old one are held back.
        backoff.next(atLeast: error.code == .unauthorized ? Self.waitAfterRefusal : error.retryAfter)
    }
}
