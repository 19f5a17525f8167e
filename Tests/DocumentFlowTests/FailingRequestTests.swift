import GatewayClient
import Testing

@testable import DocumentFlow

/// When a failing request is given up.
@Suite struct FailingRequestTests {
    private static let start = ContinuousClock.now
    private static let cut = GatewayError(.connectionLost, "cut")

    /// The result of one attempt. Another request of the kind succeeds each time.
    private enum Event { case failure, outage }

    private func advice(_ events: [(Event, Int)], retryFor: Duration = .seconds(300)) -> ReadAdvice {
        var request = FailingRequest(retryFor: retryFor)
        var history = RequestHistory()
        var advice = ReadAdvice.wait
        for (number, event) in events.flatMap({ Array(repeating: $0.0, count: $0.1) }).enumerated() {
            if event == .outage, !request.noteOutage() { continue }
            advice = request.advice(after: Self.cut, &history, now: Self.start + .seconds(number))
            history.noteSuccess()
        }
        return advice
    }

    @Test(
        arguments: [
            ([(.failure, 9)], false), ([(.failure, 10)], true),
            // The gateway was unreachable, so earlier failures are irrelevant.
            ([(.failure, 9), (.outage, 1), (.failure, 9)], false),
            ([(.failure, 9), (.outage, 1), (.failure, 10)], true),
            // But a request that brings the gateway down each time is given up.
            ([(.outage, 9)], false), ([(.outage, 18)], false), ([(.outage, 19)], true),
            ([(.outage, 9), (.failure, 5), (.outage, 5)], true),
        ] as [([(Event, Int)], Bool)])
    private func failingRequestIsGivenUp(events: [(Event, Int)], isGivenUp: Bool) {
        #expect(advice(events) == (isGivenUp ? .giveUp : .wait))
    }

    /// The first nine outages do not count as failures, even if they are consecutive.
    @Test func tenthOutageAndLaterOnesCountAsFailures() {
        var request = FailingRequest(retryFor: .seconds(300))
        #expect((1...12).map { _ in request.noteOutage() } == Array(repeating: false, count: 9) + [true, true, true])
    }

    @Test(
        arguments: [
            // A refusal is soon final.
            (GatewayError(.forbidden, "no", status: 403), 2, 1, false),
            (GatewayError(.forbidden, "no", status: 403), 3, 1, true),
            // If no other request succeeds, a temporary failure gets 30 seconds.
            (GatewayError(.serverError, "no", status: 500), 10, 1, false),
            (GatewayError(.serverError, "no", status: 500), 10, 4, true),
            // A gateway that requests a delay gets it.
            (GatewayError(.unavailable, "busy", status: 503), 10, 4, false),
            (GatewayError(.unavailable, "busy", status: 503), 4, 100, true),
        ] as [(GatewayError, Int, Int, Bool)])
    func numberOfAttemptsDependsOnTheError(error: GatewayError, times: Int, interval: Int, isGivenUp: Bool) {
        var request = FailingRequest(retryFor: .seconds(300))
        var history = RequestHistory()
        var advice = ReadAdvice.wait
        for time in 0..<times {
            advice = request.advice(after: error, &history, now: Self.start + .seconds(time * interval))
        }
        #expect(advice == (isGivenUp ? .giveUp : .wait))
    }

    // MARK: - All requests of a kind fail

    /// Sends consecutive failing requests, one attempt per second.
    ///
    /// - Returns: The attempts that each got before it was given up.
    private func attempts(
        of errors: [GatewayError], retryFor: Duration = .seconds(300), _ history: inout RequestHistory,
        from start: Int = 0
    ) -> [Int] {
        var second = start
        return errors.map { error in
            var request = FailingRequest(retryFor: retryFor)
            for attempt in 1...1000 {
                second += 1
                let now = Self.start + .seconds(second)
                if request.advice(after: error, &history, now: now) == .giveUp { return attempt }
            }
            return 0
        }
    }

    private static let broken = GatewayError(.serverError, "no", status: 500)
    private static let busy = GatewayError(.unavailable, "busy", status: 503)

    /// Regression: each request waited as long as the first, which was half a minute for every four attachments.
    @Test(
        arguments: [
            // Four get the full time, the next ones three attempts, and after --retry-for each gets one.
            (broken, 300, [31, 31, 31, 31, 3, 3]), (broken, 130, [31, 31, 31, 31, 3, 3, 1, 1]),
            (broken, 5, [6, 6, 6, 6, 1, 1]), (broken, 0, [3, 3, 3, 3, 1]), (busy, 5, [6, 6, 6, 6, 1, 1]),
            (GatewayError(.forbidden, "no", status: 403), 300, [3, 3, 3, 3, 3]),
        ] as [(GatewayError, Int, [Int])])
    func laterRequestsOfAFailingKindGetFewerAttempts(error: GatewayError, retryFor: Int, counts: [Int]) {
        var history = RequestHistory()
        let errors = Array(repeating: error, count: counts.count)
        #expect(attempts(of: errors, retryFor: .seconds(retryFor), &history) == counts)
    }

    @Test func differentReasonOrASuccessRestoresAttempts() {
        var history = RequestHistory()
        let four = Array(repeating: Self.broken, count: 4)
        #expect(attempts(of: four + [Self.busy], retryFor: .seconds(5), &history) == [6, 6, 6, 6, 6])
        #expect(attempts(of: [Self.broken], retryFor: .seconds(5), &history, from: 100) == [6])
        var other = RequestHistory()
        _ = attempts(of: four, retryFor: .seconds(5), &other)
        other.noteSuccess()
        #expect(attempts(of: [Self.broken], retryFor: .seconds(5), &other, from: 100) == [6])
    }

    /// Failures before an outage are irrelevant.
    @Test func outageResetsTheHistoryOfAKind() {
        var history = RequestHistory()
        _ = attempts(of: Array(repeating: Self.broken, count: 4), &history)
        history.noteOutage()
        #expect(attempts(of: [Self.broken], retryFor: .seconds(60), &history, from: 200) == [31])
    }

    // MARK: - Several items

    @Test func requestForSeveralItemsIsHalvedAfterThreeFailures() {
        var history = RequestHistory()
        var request = FailingRequest(retryFor: .seconds(300))
        let advice = (1...3).map { _ in request.advice(after: Self.cut, items: 8, &history) }
        #expect(advice == [.wait, .wait, .halve])
        // The first failures were already waited for.
        var half = request.half(items: 4)
        #expect(half.advice(after: Self.cut, items: 4, &history) == .halve)
        var last = half.half(items: 1)
        #expect(last.advice(after: Self.cut, &history) == .wait)
    }

    @Test func requestThatNeedsOthersAsksForThem() {
        let refused = GatewayError(.forbidden, "no", status: 403)
        for hasSucceeded in [false, true] {
            var history = RequestHistory()
            if hasSucceeded { history.noteSuccess() }
            var request = FailingRequest(retryFor: .seconds(300), requiresOtherSuccess: true)
            let advice = (1...3).map { _ in request.advice(after: refused, &history) }
            #expect(advice == [.wait, .wait, hasSucceeded ? .giveUp : .ask(.othersAreReadable)])
        }
    }
}
