import DocumentFlow
import Testing

@testable import Outside

@Suite struct ReceiverHealthTests {
    private typealias Instant = ContinuousClock.Instant

    private let start = Instant.now

    /// Without random jitter: waits are 1 s, 2 s, 4 s.
    private func health(daemon: Bool = true, retryFor: Duration = .seconds(300)) -> ReceiverHealth {
        var retries = RetryPolicy.Settings()
        retries.isDaemon = daemon
        retries.retryFor = retryFor
        return ReceiverHealth(retries, Backoff(base: .seconds(1), random: { 0.999_999_999_999 }))
    }

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    /// Rounded up, so that `at` of the result is not too early.
    private func seconds(_ instant: Instant) -> Double { start.duration(to: instant) / .seconds(1) + 0.000_001 }

    private func isAbout(_ instant: Instant?, _ seconds: Double) -> Bool {
        guard let instant else { return false }
        return abs(start.duration(to: instant) / .seconds(1) - seconds) < 0.001
    }

    @discardableResult
    private func fail(
        _ health: inout ReceiverHealth, _ key: String = "a", _ cause: ReceiverFailure.Cause = .receiver,
        retryAfter: Duration? = nil, sent: Double, at now: Double
    ) -> (shouldLog: Bool, verdict: ReceiverHealth.Verdict) {
        let failure = ReceiverFailure(
            reason: "refused", summary: "without the path", cause: cause, retryAfter: retryAfter)
        return health.fail(key, failure, sent: at(sent), now: at(now))
    }

    private func succeed(_ health: inout ReceiverHealth, _ key: String = "b", sent: Double, at now: Double) -> Duration?
    {
        health.succeed(key, sent: at(sent), now: at(now))
    }

    private func due(_ health: ReceiverHealth, _ key: String = "a", at now: Double) -> Instant? {
        health.due(key, now: at(now))
    }

    @Test func downReceiverGetsNoRequestUntilTheNextAttempt() {
        var health = health()
        #expect(due(health, at: 0) == nil)
        #expect(fail(&health, sent: 0, at: 0).shouldLog)
        #expect(isAbout(due(health, at: 0.5), 1))
        #expect(due(health, at: 1) == nil)
        #expect(!fail(&health, sent: 1, at: 1).shouldLog)
        #expect(isAbout(due(health, at: 1), 3))
        fail(&health, sent: 3, at: 3)
        #expect(isAbout(due(health, at: 3), 7))
    }

    @Test func waitingDocumentsAreCountedOnceUntilTheOutageEnds() {
        var health = health()
        health.noteWaiting("a")
        #expect(health.status == nil)
        fail(&health, sent: 0, at: 0)
        for document in ["a", "b", "a"] { health.noteWaiting(document) }
        #expect(health.status?.waiting == 2)
        #expect(health.status?.began == at(0))
        #expect(isAbout(health.status?.nextAttempt, 1))
        #expect(health.status?.reason == "without the path")
        _ = succeed(&health, sent: 1, at: 1)
        #expect(health.status == nil)
        fail(&health, sent: 2, at: 2)
        #expect(health.status?.waiting == 0)
    }

    @Test func requestsInFlightTogetherAreOneFailedAttempt() {
        var health = health()
        for end in [0.1, 0.2, 0.3] { fail(&health, sent: 0, at: end) }
        #expect(isAbout(due(health, at: 0.3), 1.1))
        fail(&health, retryAfter: .seconds(30), sent: 0, at: 0.4)
        #expect(isAbout(due(health, at: 0.4), 30.4))
    }

    @Test func retryAfterIsHonoured() {
        var health = health()
        fail(&health, retryAfter: .seconds(20), sent: 0, at: 0)
        #expect(isAbout(due(health, at: 19), 20))
    }

    @Test func successEndsTheOutageAndReportsItsLength() {
        var health = health()
        fail(&health, sent: 0, at: 0)
        fail(&health, sent: 1, at: 1)
        #expect(succeed(&health, sent: 3, at: 4) == .seconds(4))
        #expect(health.outage == nil)
        #expect(succeed(&health, sent: 4, at: 5) == nil)
        // The waits start over.
        fail(&health, sent: 6, at: 6)
        #expect(isAbout(due(health, at: 6), 7))
    }

    @Test func successOfAnEarlierRequestDoesNotEndTheOutage() {
        var health = health()
        fail(&health, retryAfter: .seconds(20), sent: 0, at: 1)
        #expect(succeed(&health, sent: 0.5, at: 2) == nil)
        #expect(isAbout(due(health, at: 2), 21))
    }

    @Test func oneFailingEventIsNoOutage() {
        var health = health()
        for time in [0.0, 1, 2, 3, 4] {
            fail(&health, "poison", .event, sent: time, at: time)
            #expect(due(health, "other", at: time) == nil)
        }
        fail(&health, "b", .event, sent: 5, at: 5)
        #expect(health.outage == nil)
        #expect(fail(&health, "c", .event, sent: 6, at: 6).shouldLog)
        #expect(isAbout(due(health, "c", at: 6), 7))
    }

    @Test func attemptsAlternateBetweenFailedAndOtherEvents() {
        var health = health()
        for key in ["a", "b", "c"] { fail(&health, key, .event, sent: 0, at: 0) }
        #expect(isAbout(due(health, "a", at: 0), 1))
        #expect(isAbout(due(health, "new", at: 0), 1.2))
        fail(&health, "a", .event, sent: 1, at: 1)
        #expect(isAbout(due(health, "a", at: 1), 3.2))
        #expect(isAbout(due(health, "new", at: 1), 3))
        fail(&health, "new", .event, sent: 3, at: 3)
        #expect(isAbout(due(health, "new", at: 3), 7))
        // If no event has failed, attempts don't alternate.
        var unreachable = self.health()
        fail(&unreachable, "a", sent: 0, at: 0)
        #expect(isAbout(due(unreachable, "new", at: 0), 1))
    }

    /// Simulates 40 events at once, with at most 8 concurrent requests of 10 ms each.
    ///
    /// - Parameter fails: Whether an attempt at an event fails.
    /// - Returns: When the last event was settled, and how many events were accepted and refused.
    private func simulate(
        _ fails: (_ event: Int, _ attempt: Int) -> Bool
    ) -> (end: Double, accepted: Int, refused: Int) {
        var health = health()
        var pending = (0..<40).map { (event: $0, due: 0.0, attempts: 0) }
        var counts = (accepted: 0, refused: 0)
        var now = 0.0
        while !pending.isEmpty, now < 600 {
            pending.sort { $0.due < $1.due }
            now = max(now, pending[0].due)
            var sent: [(event: Int, due: Double, attempts: Int)] = []
            var waiting: [(event: Int, due: Double, attempts: Int)] = []
            for item in pending {
                let limit = health.outage == nil ? 8 : 1
                if item.due > now || sent.count >= limit {
                    waiting.append(item)
                } else if let due = health.due("\(item.event)", now: at(now)) {
                    waiting.append((item.event, seconds(due), item.attempts))
                } else {
                    sent.append(item)
                }
            }
            let began = now
            if !sent.isEmpty { now += 0.01 }
            for item in sent {
                guard fails(item.event, item.attempts) else {
                    _ = health.succeed("\(item.event)", sent: at(began), now: at(now))
                    counts.accepted += 1
                    continue
                }
                switch fail(&health, "\(item.event)", .event, sent: began, at: now).verdict {
                case .refuse: counts.refused += 1
                case .retry(let due):
                    waiting.append((item.event, seconds(due), item.attempts + 1))
                case .giveUp(let reason): Issue.record("\(reason)")
                }
            }
            pending = waiting
        }
        return (now, counts.accepted, counts.refused)
    }

    @Test func receiverThatFailsOnceForEachEventRecoversSoon() {
        let result = simulate { _, attempt in attempt == 0 }
        #expect(result.accepted == 40)
        #expect(result.end < 30)
    }

    @Test func alwaysFailingEventsDoNotBlockOthers() {
        let result = simulate { event, _ in event < 5 }
        #expect(result.accepted == 35)
        #expect(result.refused == 5)
        #expect(result.end < 300)
    }

    @Test func oneShotJobGivesUpOnOneEventToo() {
        var health = health(daemon: false, retryFor: .seconds(10))
        guard case .retry = fail(&health, "a", .event, sent: 0, at: 0).verdict else {
            Issue.record("it does not retry")
            return
        }
        #expect(
            fail(&health, "a", .event, sent: 11, at: 11).verdict
                == .giveUp(reason: "gave up after 10 s: refused"))
    }

    @Test func oneShotJobGivesUp() {
        var health = health(daemon: false, retryFor: .seconds(10))
        var ends: [Double] = []
        for time in [0.0, 1, 3, 7, 10] {
            if case .giveUp(let reason) = fail(&health, sent: time, at: time).verdict {
                #expect(reason == "gave up after 10 s: refused")
                ends.append(time)
            }
        }
        #expect(ends == [10])
        // The last attempt is due exactly when the time is up.
        var other = self.health(daemon: false, retryFor: .seconds(10))
        for time in [0.0, 1, 3, 7] { fail(&other, sent: time, at: time) }
        #expect(isAbout(due(other, at: 7), 10))
    }

    @Test func oneShotJobGivesUpIfRetryAfterIsTooLong() {
        var health = health(daemon: false, retryFor: .seconds(10))
        guard case .giveUp(let reason) = fail(&health, retryAfter: .seconds(60), sent: 0, at: 0).verdict else {
            Issue.record("it waits")
            return
        }
        #expect(reason.hasPrefix("gave up: the receiver asks to wait 60 s, longer than --retry-for allows"))
    }

    @Test func eventIsGivenUpOnceOthersAreAccepted() {
        var attempts = EventAttempts(Backoff())
        for _ in 0..<20 { #expect(!attempts.fail("a", isFromGateway: false, successes: 5).givesUp) }
        let last = attempts.fail("a", isFromGateway: false, successes: 6)
        #expect(last.givesUp)
        #expect(last.count == 21)
        // After that, its count starts over.
        #expect(!attempts.contains("a"))
        for _ in 0..<7 { #expect(!attempts.fail("b", isFromGateway: false, successes: 7).givesUp) }
        attempts.end("b")
        #expect(!attempts.fail("b", isFromGateway: false, successes: 8).givesUp)
    }

    @Test func overloadedProxyIsToleratedLonger() {
        var attempts = EventAttempts(Backoff())
        _ = attempts.fail("a", isFromGateway: true, successes: 0)
        for _ in 1..<29 { #expect(!attempts.fail("a", isFromGateway: true, successes: 9).givesUp) }
        #expect(attempts.fail("a", isFromGateway: true, successes: 9).givesUp)
    }

    @Test func acceptedEventsAreRememberedForAWhile() {
        func key(_ number: Int) -> AcceptedEvents.Key { AcceptedEvents.Key(id: "\(number)", revision: nil) }
        var events = AcceptedEvents()
        for number in 0..<60_000 { events.insert(key(number), nil) }
        #expect(events[key(59_999)] != nil)
        #expect(events[key(35_000)] != nil)
        #expect(events[key(0)] == nil)
    }
}
