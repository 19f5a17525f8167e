import DocumentFlow
import Testing

@testable import Pipeline

@Suite struct ReceiverHealthTests {
    private typealias Instant = ContinuousClock.Instant

    private let start = Instant.now

    /// Waits are as long as they may be: 1 s, 2 s, 4 s.
    private func health(daemon: Bool = true, retryFor: Duration = .seconds(300)) -> ReceiverHealth {
        var retries = RetryPolicy.Settings()
        retries.isDaemon = daemon
        retries.retryFor = retryFor
        return ReceiverHealth(retries, Backoff(base: .seconds(1), random: { 0.999_999_999_999 }))
    }

    private func at(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    private func isAbout(_ instant: Instant?, _ seconds: Double) -> Bool {
        guard let instant else { return false }
        return abs(start.duration(to: instant) / .seconds(1) - seconds) < 0.001
    }

    @discardableResult
    private func fail(
        _ health: inout ReceiverHealth, _ failure: ReceiverHealth.Failure = .ofReceiver, retryAfter: Duration? = nil,
        sent: Double, at now: Double
    ) -> (isNews: Bool, step: ReceiverHealth.Step) {
        health.fail(failure, reason: "refused", retryAfter: retryAfter, sent: at(sent), now: at(now))
    }

    @Test func whileItIsDownNothingIsSentUntilTheNextAttemptIsDue() {
        var health = health()
        #expect(health.due(now: at(0)) == nil)
        #expect(fail(&health, sent: 0, at: 0).isNews)
        #expect(isAbout(health.due(now: at(0.5)), 1))
        #expect(health.due(now: at(1)) == nil)
        #expect(!fail(&health, sent: 1, at: 1).isNews)
        #expect(isAbout(health.due(now: at(1)), 3))
        fail(&health, sent: 3, at: 3)
        #expect(isAbout(health.due(now: at(3)), 7))
    }

    @Test func requestsThatWereUnderWayTogetherAreOneFailedAttempt() {
        var health = health()
        for end in [0.1, 0.2, 0.3] { fail(&health, sent: 0, at: end) }
        #expect(isAbout(health.due(now: at(0.3)), 1.1))
        fail(&health, retryAfter: .seconds(30), sent: 0, at: 0.4)
        #expect(isAbout(health.due(now: at(0.4)), 30.4))
    }

    @Test func retryAfterIsHonoured() {
        var health = health()
        fail(&health, retryAfter: .seconds(20), sent: 0, at: 0)
        #expect(isAbout(health.due(now: at(19)), 20))
    }

    @Test func aSuccessEndsTheOutageAndSaysHowLongItWas() {
        var health = health()
        fail(&health, sent: 0, at: 0)
        fail(&health, sent: 1, at: 1)
        #expect(health.succeed(sent: at(3), now: at(4)) == .seconds(4))
        #expect(health.outage == nil)
        #expect(health.succeed(sent: at(4), now: at(5)) == nil)
        // The waits begin again.
        fail(&health, sent: 6, at: 6)
        #expect(isAbout(health.due(now: at(6)), 7))
    }

    @Test func aSuccessOfAnEarlierRequestDoesNotEndIt() {
        var health = health()
        fail(&health, retryAfter: .seconds(20), sent: 0, at: 1)
        #expect(health.succeed(sent: at(0.5), now: at(2)) == nil)
        #expect(isAbout(health.due(now: at(2)), 21))
        #expect(health.successes == 1)
    }

    @Test func oneEventThatFailsIsNoOutage() {
        var health = health()
        for time in [0.0, 1, 2, 3] {
            fail(&health, .suspect, sent: time, at: time)
            #expect(health.due(now: at(time)) == nil)
            _ = health.succeed(sent: at(time), now: at(time + 0.5))
        }
        for time in [4.0, 5] { fail(&health, .suspect, sent: time, at: time) }
        #expect(health.outage == nil)
        #expect(fail(&health, .suspect, sent: 6, at: 6).isNews)
        #expect(isAbout(health.due(now: at(6)), 7))
    }

    @Test func aOneShotJobGivesUp() {
        var health = health(daemon: false, retryFor: .seconds(10))
        var ends: [Double] = []
        for time in [0.0, 1, 3, 7, 10] {
            if case .giveUp(let reason) = fail(&health, sent: time, at: time).step {
                #expect(reason == "gave up after 10 s: refused")
                ends.append(time)
            }
        }
        #expect(ends == [10])
        // The last attempt was due when the time was up.
        var other = self.health(daemon: false, retryFor: .seconds(10))
        for time in [0.0, 1, 3, 7] { fail(&other, sent: time, at: time) }
        #expect(isAbout(other.due(now: at(7)), 10))
    }

    @Test func aOneShotJobDoesNotWaitLongerThanItMay() {
        var health = health(daemon: false, retryFor: .seconds(10))
        guard case .giveUp(let reason) = fail(&health, retryAfter: .seconds(60), sent: 0, at: 0).step else {
            Issue.record("it waits")
            return
        }
        #expect(reason.hasPrefix("gave up: the receiver asks to wait 60 s, longer than --retry-for allows"))
    }

    @Test func anEventIsGivenUpOnceOthersAreTaken() {
        var attempts = EventAttempts(Backoff())
        for _ in 0..<20 { #expect(!attempts.fail("a", isOfGateway: false, successes: 5).givesUp) }
        #expect(attempts.fail("a", isOfGateway: false, successes: 6).givesUp)
        // Then it begins again.
        #expect(attempts.count("a") == 0)
        for _ in 0..<7 { #expect(!attempts.fail("b", isOfGateway: false, successes: 7).givesUp) }
        attempts.end("b")
        #expect(!attempts.fail("b", isOfGateway: false, successes: 8).givesUp)
    }

    @Test func anOverloadedProxyIsToleratedLonger() {
        var attempts = EventAttempts(Backoff())
        _ = attempts.fail("a", isOfGateway: true, successes: 0)
        for _ in 1..<29 { #expect(!attempts.fail("a", isOfGateway: true, successes: 9).givesUp) }
        #expect(attempts.fail("a", isOfGateway: true, successes: 9).givesUp)
    }

    @Test func acceptedEventsAreRememberedForAWhile() {
        var events = AcceptedEvents()
        for number in 0..<5000 { events.insert("\(number)", nil) }
        #expect(events["4999"] != nil)
        #expect(events["3000"] != nil)
        #expect(events["0"] == nil)
    }
}
