import Testing

@testable import AccessTokens

@Suite struct TokenRenewalTests {
    private let start = ContinuousClock.now

    private func renewal() -> TokenRenewal { TokenRenewal(random: { 1 }) }

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// What happens at these times, in words.
    private func steps(_ renewal: TokenRenewal, _ times: Double...) -> [String] {
        times.map { time in
            switch renewal.step(now: at(time)) {
            case .use(let token): "use \(token.number)"
            case .useAndRenew(let token): "renew \(token.number)"
            case .request: "request"
            case .hold(let due): "hold until \(start.duration(to: due) / .seconds(1))"
            }
        }
    }

    private func answer(_ seconds: Double?) -> TokenAnswer {
        TokenAnswer(text: "t", lifetime: seconds.map { .seconds($0) })
    }

    @Test(arguments: [(3600.0, 3299.0, 3300.0), (10, 7.9, 8), (600, 479, 480)])
    func tokenIsRenewedBeforeItsEnd(lifetime: Double, before: Double, due: Double) {
        var renewal = renewal()
        #expect(steps(renewal, 0) == ["request"])
        _ = renewal.succeed(answer(lifetime), now: start)
        #expect(
            steps(renewal, 0, before, due, lifetime - 0.1, lifetime) == [
                "use 1", "use 1", "renew 1", "renew 1", "request",
            ])
    }

    @Test func tokenWithoutLifetimeIsUsedUntilItIsRefused() {
        var renewal = renewal()
        let token = renewal.succeed(answer(nil), now: start)
        #expect(steps(renewal, 0, 1e6) == ["use 1", "use 1"])
        let isRefused = renewal.refuse(token, isAccepted: true, now: at(1e6))
        #expect(isRefused)
        #expect(steps(renewal, 1e6) == ["request"])
    }

    @Test func verySmallLifetimeCausesNoStorm() {
        var renewal = renewal()
        _ = renewal.succeed(answer(0.01), now: start)
        #expect(steps(renewal, 0.5, 1) == ["use 1", "request"])
    }

    @Test func tokenIsUsedWhileItsRenewalFails() {
        var renewal = renewal()
        _ = renewal.succeed(answer(100), now: start)
        renewal.fail(retryAfter: nil, now: at(80))
        #expect(steps(renewal, 80.5, 81, 99) == ["use 1", "renew 1", "renew 1"])
        renewal.fail(retryAfter: .seconds(30), now: at(81))
        #expect(steps(renewal, 99, 100, 111) == ["use 1", "hold until 111.0", "request"])
        #expect(renewal.hasToken(now: at(99)) && !renewal.hasToken(now: at(100)))
    }

    @Test func waitsAfterFailuresGrowUpToAMinute() {
        var renewal = renewal()
        var waits: [Double] = []
        for _ in 0..<10 {
            renewal.fail(retryAfter: nil, now: start)
            if case .hold(let due) = renewal.step(now: start) { waits.append(start.duration(to: due) / .seconds(1)) }
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
        _ = renewal.succeed(answer(10), now: start)
        renewal.fail(retryAfter: nil, now: at(10))
        #expect(steps(renewal, 10) == ["hold until 11.0"])
    }

    // MARK: - Refused tokens

    @Test func refusedTokenIsRenewedOnceForAllRequests() {
        var renewal = renewal()
        let first = renewal.succeed(answer(3600), now: start)
        let refusals = (0..<2).map { _ in renewal.refuse(first, isAccepted: true, now: at(60)) }
        #expect(refusals == [true, true])
        #expect(steps(renewal, 60) == ["request"])
        _ = renewal.succeed(answer(3600), now: at(61))
        // A late answer to a request with the first token.
        let late = renewal.refuse(first, isAccepted: true, now: at(62))
        #expect(late)
        #expect(steps(renewal, 62) == ["use 2"])
    }

    @Test func newTokensThatAreRefusedAreRequestedLessAndLessOften() {
        var renewal = renewal()
        var time = 0.0
        var requests: [Double] = []
        while time < 200 {
            if case .hold(let due) = renewal.step(now: at(time)) {
                time = start.duration(to: due) / .seconds(1)
                continue
            }
            requests.append(time)
            let token = renewal.succeed(answer(3600), now: at(time))
            _ = renewal.refuse(token, isAccepted: false, now: at(time))
        }
        #expect(requests == [0, 0, 2, 6, 14, 30, 62, 122, 182])
    }

    /// Every token ends while a request with it is on its way.
    @Test func tokensThatEndAreRenewedAtOnceWhenRefused() {
        var renewal = renewal()
        for number in 0..<100 {
            let token = renewal.succeed(answer(10), now: at(Double(number) * 9))
            let mayRenew = renewal.refuse(token, isAccepted: true, now: at(Double(number) * 9 + 9))
            #expect(mayRenew)
            #expect(steps(renewal, Double(number) * 9 + 9) == ["request"])
        }
    }

    /// Sync Gateway answers 401 for a database that does not exist. Requests to others go on.
    @Test func acceptedTokenIsRenewedAtMostOnceAMinuteIfItIsRefused() {
        var renewal = renewal()
        let first = renewal.succeed(answer(3600), now: start)
        var refusals = [renewal.refuse(first, isAccepted: true, now: at(10))]
        let second = renewal.succeed(answer(3600), now: at(10))
        refusals.append(renewal.refuse(second, isAccepted: true, now: at(11)))
        #expect(refusals == [true, false])
        #expect(steps(renewal, 11, 60) == ["use 2", "use 2"])
        let isRenewed = renewal.refuse(second, isAccepted: true, now: at(71))
        #expect(isRenewed)
    }
}
