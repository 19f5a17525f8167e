import DocumentFlow
import GatewayClient
import Testing

@Suite struct RetryPolicyTests {
    private static let refused = GatewayError(.cannotConnect, "refused")
    private static let html = GatewayError(.malformedAnswer, "HTML")

    private func makePolicy(
        daemon: Bool, retryFor: Duration = .seconds(300), waitsForFirstContact: Bool = false, hasSucceeded: Bool = false
    ) -> RetryPolicy {
        var settings = RetryPolicy.Settings()
        settings.isDaemon = daemon
        settings.retryFor = retryFor
        settings.waitsForFirstContact = waitsForFirstContact
        return RetryPolicy(settings, hasSucceeded: hasSucceeded)
    }

    private func code(_ step: RetryPolicy.NextStep) -> RunError.Code? {
        if case .end(let failure) = step { failure.code } else { nil }
    }

    @Test func oneShotJobEndsIfTheFirstContactIsRefused() {
        var policy = makePolicy(daemon: false)
        #expect(code(policy.nextStep(after: Self.refused)) == .unreachable)
    }

    @Test func oneShotJobCanBeConfiguredToWaitForTheFirstContact() {
        var policy = makePolicy(daemon: false, waitsForFirstContact: true)
        #expect(code(policy.nextStep(after: Self.refused)) == nil)
    }

    @Test func daemonWaitsForTheFirstContact() {
        var policy = makePolicy(daemon: true)
        for _ in 0..<1000 { #expect(code(policy.nextStep(after: Self.refused)) == nil) }
    }

    /// Sync Gateway answers 401 for a missing database, which may be about to be recreated.
    @Test func daemonWaitsForAMissingDatabase() {
        var gone = GatewayError(.unauthorized, "Login required", status: 401)
        gone.cause = .unknownDatabaseOrLogin
        var daemon = makePolicy(daemon: true, hasSucceeded: true)
        for _ in 0..<100 { #expect(code(daemon.nextStep(after: gone)) == nil) }
        var first = makePolicy(daemon: true)
        #expect(code(first.nextStep(after: gone)) == .notAllowed)
        var job = makePolicy(daemon: false, hasSucceeded: true)
        _ = job.nextStep(after: gone)
        #expect(code(job.nextStep(after: gone)) == .notAllowed)
    }

    @Test func oneShotJobGivesUpAfterRetryForWithoutASuccess() {
        var policy = makePolicy(daemon: false, retryFor: .seconds(10), hasSucceeded: true)
        let start = ContinuousClock.now
        #expect(code(policy.nextStep(after: Self.refused, now: start)) == nil)
        #expect(code(policy.nextStep(after: Self.refused, now: start + .seconds(9))) == nil)
        #expect(code(policy.nextStep(after: Self.refused, now: start + .seconds(11))) == .gaveUp)
    }

    @Test func lastWaitOfAOneShotJobEndsWithRetryFor() {
        var policy = makePolicy(daemon: false, retryFor: .seconds(3), hasSucceeded: true)
        let start = ContinuousClock.now
        for attempt in 0..<20 {
            let step = policy.nextStep(after: Self.refused, now: start + .milliseconds(attempt * 100))
            guard case .retry(let wait) = step else {
                Issue.record("gave up")
                return
            }
            #expect(wait <= .seconds(3) - .milliseconds(attempt * 100))
        }
    }

    @Test func successResetsTheTime() {
        var policy = makePolicy(daemon: false, retryFor: .seconds(10), hasSucceeded: true)
        let start = ContinuousClock.now
        _ = policy.nextStep(after: Self.refused, now: start)
        policy.succeed()
        #expect(code(policy.nextStep(after: Self.refused, now: start + .seconds(60))) == nil)
    }

    @Test(arguments: [true, false])
    func threeConsecutiveHTMLAnswersAreNotAGateway(daemon: Bool) {
        var policy = makePolicy(daemon: daemon)
        #expect(code(policy.nextStep(after: Self.html)) == nil)
        #expect(code(policy.nextStep(after: Self.html)) == nil)
        #expect(code(policy.nextStep(after: Self.html)) == .notAGateway)
    }

    @Test func htmlAfterAValidAnswerIsTemporary() {
        var policy = makePolicy(daemon: true, hasSucceeded: true)
        for _ in 0..<10 { #expect(code(policy.nextStep(after: Self.html)) == nil) }
    }

    @Test func passwordRefusedAtFirstContactEndsTheRun() {
        var policy = makePolicy(daemon: true)
        #expect(code(policy.nextStep(after: GatewayError(.unauthorized, "no", status: 401))) == .notAllowed)
    }

    @Test func acceptedPasswordIsRetriedOnce() {
        var policy = makePolicy(daemon: false, hasSucceeded: true)
        let no = GatewayError(.unauthorized, "no", status: 401)
        guard case .retry(let wait) = policy.nextStep(after: no) else {
            Issue.record("gave up")
            return
        }
        #expect(wait >= .seconds(2))
        #expect(code(policy.nextStep(after: no)) == .notAllowed)
    }

    /// CouchDB refuses all users for about a second when an administrator's password is set.
    @Test func daemonToleratesARefusalForTenSeconds() {
        var policy = makePolicy(daemon: true, hasSucceeded: true)
        let (no, start) = (GatewayError(.unauthorized, "no", status: 401), ContinuousClock.now)
        // Earlier failures do not count.
        #expect(code(policy.nextStep(after: Self.refused, now: start - .seconds(60))) == nil)
        for second in [0, 2, 9] { #expect(code(policy.nextStep(after: no, now: start + .seconds(second))) == nil) }
        #expect(code(policy.nextStep(after: no, now: start + .seconds(11))) == .notAllowed)
    }

    @Test func missingDatabaseEndsTheRun() {
        var policy = makePolicy(daemon: true)
        #expect(code(policy.nextStep(after: GatewayError(.notFound, "no", status: 404))) == .databaseMissing)
    }

    /// What was read of one of many databases must not be written into a new one of its name.
    @Test func oneOfManyDatabasesIsNotWaitedFor() {
        var settings = RetryPolicy.Settings()
        (settings.isDaemon, settings.waitsForMissingDatabase) = (true, false)
        var missing = GatewayError(.notFound, "no", status: 404)
        var policy = RetryPolicy(settings.ofOtherRun(observer: nil), hasSucceeded: true)
        #expect(code(policy.nextStep(after: missing)) == nil)
        missing.cause = .databaseMissing
        #expect(code(policy.nextStep(after: missing)) == .databaseMissing)
    }

    @Test func retryAfterIsHonoured() {
        var policy = makePolicy(daemon: true, hasSucceeded: true)
        let error = GatewayError(.unavailable, "busy", status: 503, retryAfter: .seconds(17))
        guard case .retry(let delay) = policy.nextStep(after: error) else {
            Issue.record("gave up")
            return
        }
        #expect(delay >= .seconds(17))
    }

    /// Regression: the error stated a wait that had not happened.
    @Test func retryAfterBeyondTheLimitIsReported() {
        var policy = makePolicy(daemon: false, hasSucceeded: true)
        let error = GatewayError(.unavailable, "busy", status: 503, retryAfter: .seconds(86_400))
        guard case .end(let failure) = policy.nextStep(after: error) else {
            Issue.record("waits")
            return
        }
        #expect(failure.description.hasPrefix("gave up: the gateway asks to wait 86400 s, longer than --retry-for"))
    }
}

@Suite struct BackoffTests {
    /// Without a cap, a reader once slept for hours.
    @Test func noWaitExceedsTheCap() {
        var backoff = Backoff(random: { 0.999_999 })
        var previous = Duration.zero
        for attempt in 0..<10_000 {
            let wait = backoff.next()
            #expect(wait <= backoff.cap)
            if attempt < 8 { #expect(wait > previous) }
            previous = wait
        }
    }

    @Test func jitterReachesDownToZero() {
        var backoff = Backoff(random: { 0 })
        #expect(backoff.next() == .zero)
    }

    @Test func successResetsTheWait() {
        var backoff = Backoff(random: { 1 })
        let first = backoff.next()
        for _ in 0..<5 { _ = backoff.next() }
        backoff.reset()
        #expect(backoff.next() == first)
    }
}
