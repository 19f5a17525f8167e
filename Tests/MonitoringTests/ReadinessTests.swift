import DocumentFlow
import GatewayClient
import Monitoring
import Testing

@Suite struct ReadinessTests {
    private let start = ContinuousClock.now

    /// The bot's readiness after these steps: seconds since the start, and its report at that time.
    private func unreadyReason(_ steps: [(seconds: Int, facts: RunFacts)]) -> String? {
        var readiness = Readiness(now: start)
        for step in steps { readiness.note(step.facts, now: start + .seconds(step.seconds)) }
        guard let last = steps.last else { return nil }
        return readiness.unreadyReason(last.facts, now: start + .seconds(last.seconds))
    }

    private func facts(
        _ phase: RunFacts.Phase, changes: Int = 0, behindSince: Int? = nil, outageSince: Int? = nil
    ) -> RunFacts {
        var facts = RunFacts()
        facts.phase = phase
        facts.counters.changes = changes
        facts.behindSince = behindSince.map { start + .seconds($0) }
        let outage = Outage()
        if let outageSince {
            _ = outage.note(
                GatewayError(.cannotConnect, "refused"), stopsAll: true, now: start + .seconds(outageSince))
        }
        facts.outage = outage.status
        return facts
    }

    @Test func followingBotIsReady() {
        #expect(unreadyReason([(0, facts(.following)), (600, facts(.following))]) == nil)
    }

    @Test(arguments: [(RunFacts.Phase.connecting, "not connected yet"), (.stopping, "stopping")])
    func botThatDoesNotFollowIsNotReady(_ phase: RunFacts.Phase, _ text: String) {
        #expect(unreadyReason([(0, facts(phase))]) == text)
    }

    @Test func neverReachedGatewayIsReportedImmediately() {
        #expect(
            unreadyReason([(3, facts(.connecting, outageSince: 1))])
                == "the gateway has been unreachable for 2 s: refused")
    }

    @Test func blockingReceiversAreNamed() {
        var stuck = facts(.following, behindSince: 0)
        for origin in ["https://b", "https://a", "https://b"] {
            stuck.receivers.append(
                (
                    ReceiverOutages.Receiver(.webhooks, origin),
                    ReceiverOutages.Status(began: start, reason: "x", nextAttempt: start, waiting: 1)
                ))
        }
        #expect(
            unreadyReason([(0, stuck), (61, stuck)])
                == "no progress for 61 s: changes wait for https://a, https://b, which are unavailable")
    }

    @Test(arguments: [(59, false), (60, true), (3600, true)])
    func outageCountsAfterOneMinute(_ seconds: Int, _ counts: Bool) {
        let unreadyReason = unreadyReason([(seconds, facts(.following, outageSince: 0))])
        #expect((unreadyReason != nil) == counts)
    }

    @Test func pendingChangesWithoutProgressCountAfterOneMinute() {
        let stuck = facts(.following, changes: 5, behindSince: 0)
        #expect(unreadyReason([(0, stuck), (59, stuck)]) == nil)
        #expect(unreadyReason([(0, stuck), (60, stuck)]) == "no progress for 60 s, although changes are pending")
    }

    @Test func anyCountIsProgress() {
        let steps = (0...10).map { (seconds: $0 * 30, facts: facts(.catchingUp, changes: $0 + 1, behindSince: 0)) }
        #expect(unreadyReason(steps) == nil)
    }

    @Test func feedWithoutChangesNeedsNoProgress() {
        #expect(unreadyReason([(0, facts(.following)), (3600, facts(.following)), (3660, facts(.following))]) == nil)
    }

    @Test func reachableGatewayMakesBotReadyAgain() {
        #expect(
            unreadyReason([
                (0, facts(.following)), (90, facts(.following, outageSince: 10)), (91, facts(.following)),
            ]) == nil)
    }

    @Test func outageDoesNotCountAsTimeWithoutProgress() {
        let steps = [
            (0, facts(.following, behindSince: 0)), (600, facts(.following, behindSince: 0, outageSince: 1)),
            (605, facts(.following, behindSince: 0)),
        ]
        #expect(unreadyReason(steps) == nil)
    }
}
