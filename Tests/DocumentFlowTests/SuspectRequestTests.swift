import GatewayClient
import Testing

@testable import DocumentFlow

/// When a request that keeps failing is given up.
@Suite struct SuspectRequestTests {
    private static let start = ContinuousClock.now
    private static let cut = GatewayError(.connectionLost, "cut")

    /// What happens after one attempt. Another request of the kind succeeds each time.
    private enum Event { case failure, outage }

    private func request(_ events: [(Event, Int)], retryFor: Duration = .seconds(300)) -> SuspectRequest {
        var request = SuspectRequest(retryFor: retryFor)
        for (number, event) in events.flatMap({ Array(repeating: $0.0, count: $0.1) }).enumerated() {
            if event == .outage, !request.noteOutage() { continue }
            request.noteFailure(Self.cut, successes: number, now: Self.start + .seconds(number))
        }
        return request
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
        #expect(request(events).mustGiveUp == isGivenUp)
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
        for time in 0..<times {
            request.noteFailure(error, successes: 0, now: Self.start + .seconds(time * interval))
        }
        #expect(request.mustGiveUp == isGivenUp)
    }
}
