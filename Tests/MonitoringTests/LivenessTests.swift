import DocumentFlow
import GatewayClient
import Locking
import Monitoring
import TestKit
import Testing

/// Which silence of a bot counts as hanging.
@Suite struct LivenessTests {
    private let start = SuspendingClock.now
    private static let changesRead: RunEvent = .counted(counters { $0.changes = 5 })
    private static let written: RunEvent = .counted(counters { $0.written = 1 })

    private static func counters(_ change: (inout RunCounters) -> Void) -> RunCounters {
        var counters = RunCounters()
        change(&counters)
        return counters
    }

    private func facts(_ phase: RunFacts.Phase, pendingFor seconds: Int? = nil) -> RunFacts {
        var facts = RunFacts()
        facts.phase = phase
        if seconds != nil || phase != .following { facts.behindSince = .now - .seconds(seconds ?? 0) }
        return facts
    }

    /// Why a bot seems to hang at this second, after these signs of life.
    private func silence(
        _ facts: RunFacts, at second: Int, after signs: [(second: Int, event: RunEvent)] = [], requests: [Int] = [],
        of target: String = "/todo/_changes?feed=longpoll"
    ) -> String? {
        let liveness = Liveness(maxFeedTime: .seconds(120), now: start)
        for sign in signs { liveness.note(sign.event, now: start + .seconds(sign.second)) }
        for request in requests { liveness.noteRequest(target, now: start + .seconds(request)) }
        return liveness.silence(facts, now: start + .seconds(second))
    }

    @Test func waitingBotIsAliveWhileItsRequestsEnd() {
        #expect(silence(facts(.following), at: 119) == nil)
        #expect(silence(facts(.following), at: 120) == "its request for changes got no answer for 120 s")
        #expect(silence(facts(.following), at: 1000, requests: [50, 100, 950]) == nil)
        #expect(silence(facts(.following), at: 1000, requests: [50, 100]) != nil)
    }

    @Test func otherRequestsAreNotSignsOfLife() {
        #expect(silence(facts(.following), at: 130, requests: [125], of: "/todo/_local/changebot.bot") != nil)
    }

    @Test func hangingWriterIsReportedDespiteFeed() {
        let pending = facts(.following, pendingFor: 5000)
        let read = (1...40).map { (second: $0 * 50, event: Self.changesRead) }
        #expect(silence(pending, at: 1799, after: read) == nil)
        #expect(
            silence(pending, at: 1850, after: read, requests: [1840])
                == "pending changes are neither decided nor written for 1850 s")
        #expect(silence(pending, at: 1850, after: read + [(500, Self.written)]) == nil)
    }

    /// Regression: the first change after an idle hour would have ended the process before it was decided.
    @Test func newChangeIsNotReportedAsHung() {
        for seconds in [0, 1700] {
            #expect(silence(facts(.following, pendingFor: seconds), at: 9000, requests: [8990]) == nil)
        }
        #expect(silence(facts(.following, pendingFor: 1801), at: 9000, requests: [8990]) != nil)
    }

    @Test(arguments: [
        RunEvent.sent(.seconds(1)), .decided(.seconds(1), jq: nil), .settled([.seconds(1)]), .deadLettered(rule: nil),
        .wrote([]), written,
    ]) func workIsSignOfLife(_ event: RunEvent) {
        #expect(silence(facts(.following, pendingFor: 9000), at: 1000, after: [(900, event)]) == nil)
    }

    /// A receiver may request a wait of an hour. The bot would have been killed after half of it.
    @Test func waitRequestedByReceiverIsNotSilence() {
        func waiting(_ phase: RunFacts.Phase, attemptIn seconds: Int) -> RunFacts {
            var facts = facts(phase, pendingFor: 9000)
            facts.receivers = [
                (
                    ReceiverOutages.Receiver(.webhooks, "http://h"),
                    ReceiverOutages.Status(
                        began: .now, reason: "answered HTTP 503", nextAttempt: .now + .seconds(seconds), waiting: 1)
                )
            ]
            return facts
        }
        for phase in [RunFacts.Phase.following, .catchingUp] {
            for seconds in [100, -1700] {
                #expect(silence(waiting(phase, attemptIn: seconds), at: 9000, requests: [8990]) == nil)
            }
        }
        #expect(silence(waiting(.following, attemptIn: -1801), at: 9000, requests: [8990]) != nil)
    }

    @Test func waitBeforeNextAttemptIsNotSilence() {
        let retried: RunEvent = .retried(.unavailable, wait: .seconds(3600))
        for facts in [facts(.connecting), facts(.following), facts(.following, pendingFor: 9000), facts(.catchingUp)] {
            #expect(silence(facts, at: 3700, after: [(10, retried)]) == nil)
            #expect(silence(facts, at: 5500, after: [(10, retried)]) != nil)
        }
    }

    @Test(arguments: [RunFacts.Phase.connecting, .catchingUp, .stopping])
    func anySignCountsDuringCatchUp(_ phase: RunFacts.Phase) {
        #expect(silence(facts(phase), at: 1799) == nil)
        #expect(silence(facts(phase), at: 1800) == "nothing was read, decided or written for 1800 s")
        #expect(silence(facts(phase), at: 2100, after: [(400, Self.changesRead)]) == nil)
        #expect(silence(facts(phase), at: 2100, after: [(400, Self.written)]) == nil)
    }

    @Test(.limitedParallelism) func firstSignAndPhaseChangesRaiseTheSignal() async throws {
        let liveness = Liveness(maxFeedTime: .seconds(120))
        liveness.note(.sent(.seconds(1)))
        try await liveness.changed.wait()
        liveness.note(.progressed)
        try await liveness.changed.wait()
        // Work itself does not raise the signal: a waiting task would never rest.
        liveness.note(.sent(.seconds(1)))
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await liveness.changed.wait() }
                group.cancelAll()
                try await group.next()
            }
        }
    }
}
