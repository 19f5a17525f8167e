import GatewayClient
import Testing

@testable import DocumentFlow

/// When a request that keeps failing is given up.
@Suite struct SuspectRequestTests {
    private static let start = ContinuousClock.now
    private static let cut = GatewayError(.connectionLost, "cut")

    /// What happens after one attempt. Another request of the kind succeeds each time.
    private enum Event { case failure, outage }

    private func advice(_ events: [(Event, Int)], retryFor: Duration = .seconds(300)) -> ReadAdvice {
        var request = SuspectRequest(retryFor: retryFor)
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
            // The gateway was gone: what failed before says nothing about this request.
            ([(.failure, 9), (.outage, 1), (.failure, 9)], false),
            ([(.failure, 9), (.outage, 1), (.failure, 10)], true),
            // But a request that takes the gateway down each time ends.
            ([(.outage, 9)], false), ([(.outage, 18)], false), ([(.outage, 19)], true),
            ([(.outage, 9), (.failure, 5), (.outage, 5)], true),
        ] as [([(Event, Int)], Bool)])
    private func aRequestThatKeepsFailingIsGivenUp(events: [(Event, Int)], isGivenUp: Bool) {
        #expect(advice(events) == (isGivenUp ? .giveUp : .wait))
    }

    /// The first nine outages, however many there are in a row, are not its failures.
    @Test func fromTheTenthOutageOnEachIsAFailure() {
        var request = SuspectRequest(retryFor: .seconds(300))
        #expect((1...12).map { _ in request.noteOutage() } == Array(repeating: false, count: 9) + [true, true, true])
    }

    @Test(
        arguments: [
            // A refusal is final soon.
            (GatewayError(.forbidden, "no", status: 403), 2, 1, false),
            (GatewayError(.forbidden, "no", status: 403), 3, 1, true),
            // While no other request succeeds, a temporary failure gets 30 seconds.
            (GatewayError(.serverError, "no", status: 500), 10, 1, false),
            (GatewayError(.serverError, "no", status: 500), 10, 4, true),
            // A gateway that asks for time gets it.
            (GatewayError(.unavailable, "busy", status: 503), 10, 4, false),
            (GatewayError(.unavailable, "busy", status: 503), 4, 100, true),
        ] as [(GatewayError, Int, Int, Bool)])
    func howOftenAFailureIsRepeated(error: GatewayError, times: Int, interval: Int, isGivenUp: Bool) {
        var request = SuspectRequest(retryFor: .seconds(300))
        var history = RequestHistory()
        var advice = ReadAdvice.wait
        for time in 0..<times {
            advice = request.advice(after: error, &history, now: Self.start + .seconds(time * interval))
        }
        #expect(advice == (isGivenUp ? .giveUp : .wait))
    }

    // MARK: - Several items

    @Test func aRequestForSeveralItemsIsHalvedAtTheThirdFailure() {
        var history = RequestHistory()
        var request = SuspectRequest(retryFor: .seconds(300))
        let advice = (1...3).map { _ in request.advice(after: Self.cut, items: 8, &history) }
        #expect(advice == [.wait, .wait, .halve])
        // The first failures were already waited for.
        var half = request.half(items: 4)
        #expect(half.advice(after: Self.cut, items: 4, &history) == .halve)
        var last = half.half(items: 1)
        #expect(last.advice(after: Self.cut, &history) == .wait)
    }

    @Test func aRequestThatNeedsOthersAsksForThem() {
        let refused = GatewayError(.forbidden, "no", status: 403)
        for hasSucceeded in [false, true] {
            var history = RequestHistory()
            if hasSucceeded { history.noteSuccess() }
            var request = SuspectRequest(retryFor: .seconds(300), needsOthers: true)
            let advice = (1...3).map { _ in request.advice(after: refused, &history) }
            #expect(advice == [.wait, .wait, hasSucceeded ? .giveUp : .ask(.areOthersReadable)])
        }
    }
}
