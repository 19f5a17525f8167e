import Testing

@testable import Outside

@Suite struct ReceiverPaceTests {
    private let start = ContinuousClock.Instant.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    /// A pace with eight places, after responses that took these times and all ended at 0.
    private func pace(_ times: [Double] = []) -> ReceiverPace {
        var pace = ReceiverPace(places: 8, now: start)
        for time in times {
            pace.begin(now: at(-time))
            pace.end(start: at(-time), now: at(0))
        }
        return pace
    }

    private func fill(_ pace: inout ReceiverPace, at time: Double, count: Int = 8) {
        for _ in 0..<count { pace.begin(now: at(time)) }
    }

    @Test func unknownReceiverHasNoQueueLimit() {
        var pace = pace()
        #expect(pace.queueLimit(isReturning: false, now: at(0)) == .max)
        fill(&pace, at: 0)
        #expect(pace.queueLimit(isReturning: false, now: at(0)) == .max)
    }

    @Test func queueHoldsOneSecondOfRequests() {
        var pace = pace([0.01, 0.01])
        fill(&pace, at: 0)
        #expect((790...800).contains(pace.queueLimit(isReturning: false, now: at(0))))
        pace = self.pace([0.5])
        fill(&pace, at: 0)
        #expect((15...16).contains(pace.queueLimit(isReturning: false, now: at(0))))
        #expect((31...32).contains(pace.queueLimit(isReturning: true, now: at(0))))
        // But the queue is always long enough to fill all places.
        pace = self.pace([100])
        fill(&pace, at: 0)
        #expect(pace.queueLimit(isReturning: false, now: at(0)) == 8)
    }

    @Test func hangingRequestsShowASlowReceiverBeforeTheyEnd() {
        var pace = pace()
        fill(&pace, at: 0)
        #expect((15...16).contains(pace.queueLimit(isReturning: false, now: at(0.5))))
        #expect(pace.queueLimit(isReturning: false, now: at(60)) == 8)
    }

    @Test func oneHangingRequestChangesLittle() {
        var pace = pace([0.01])
        fill(&pace, at: 0, count: 7)
        pace.begin(now: at(-30))
        #expect((690...700).contains(pace.queueLimit(isReturning: false, now: at(0))))
        // The same holds after it has ended, and for one fast request among slow ones.
        pace.end(start: at(-30), now: at(0))
        #expect(pace.queueLimit(isReturning: false, now: at(0)) > 200)
        var slow = self.pace([1, 1, 0.001])
        fill(&slow, at: 0)
        #expect(slow.queueLimit(isReturning: false, now: at(0)) < 30)
    }

    @Test func deferredRequestsHaveTheirOwnTimesAndGoFirst() {
        var pace = pace([0.5])
        fill(&pace, at: 0)
        let turns = (0..<32).map { _ in start.duration(to: pace.deferRequest(now: at(0))) / .seconds(1) }
        // Their turns follow those of waiting requests. Requests with close turns retry together.
        let expected = (1...32).map { ((1 + Double($0) * 0.0625) * 2).rounded(.up) / 2 }
        #expect(zip(turns, expected).allSatisfy { abs($0 - $1) < 0.001 })
        #expect(pace.queueLimit(isReturning: false, now: at(0)) == 0)
        #expect(pace.queueLimit(isReturning: true, now: at(0)) > 8)
        // New requests have to wait until enough deferred ones have returned.
        #expect(pace.queueLimit(isReturning: false, now: at(turns[31] + 1)) > 0)
    }

    @Test func deferredRequestRetriesSoonUnlessManyDo() {
        var pace = pace([100])
        fill(&pace, at: 0)
        let soon = (0..<100).map { _ in start.duration(to: pace.deferRequest(now: at(0))) / .seconds(1) }
        #expect(soon.allSatisfy { (2.5...5).contains($0) })
        #expect(Set(soon).count > 3)
        for _ in 0..<20_000 { _ = pace.deferRequest(now: at(0)) }
        #expect((100...201.5).contains(start.duration(to: pace.deferRequest(now: at(0))) / .seconds(1)))
        #expect(pace.queueLimit(isReturning: false, now: at(1)) == 0)
        // Once they have returned, there are no lasting effects.
        #expect(pace.queueLimit(isReturning: false, now: at(300)) == 8)
        for _ in 0..<8 { pace.end(start: at(0), now: at(300)) }
        for _ in 0..<100 { pace.end(start: at(300), now: at(300)) }
        #expect(pace.queueLimit(isReturning: false, now: at(300)) > 100)
    }
}
