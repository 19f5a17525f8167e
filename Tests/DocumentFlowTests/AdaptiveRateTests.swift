import DocumentFlow
import Testing

@Suite struct AdaptiveRateTests {
    private let start = ContinuousClock.now

    /// Writes as fast as the rate allows, `documents` at a time. Returns when the last write began.
    private func write(
        _ rate: inout AdaptiveRate, _ documents: Int, for span: Duration, from begin: ContinuousClock.Instant
    )
        -> (documents: Int, end: ContinuousClock.Instant)
    {
        var now = begin
        var total = 0
        while true {
            let time = rate.reserveTime(for: documents, now: now)
            if time > begin + span { return (total, begin + span) }
            // A write takes 10 ms.
            now = time + .milliseconds(10)
            rate.noteWritten(documents, now: now)
            total += documents
        }
    }

    @Test func writesDoNotWaitWithoutRefusals() {
        var rate = AdaptiveRate()
        for step in 0..<1000 {
            let now = start + .milliseconds(step)
            #expect(rate.reserveTime(for: 250, now: now) == now)
            rate.noteWritten(250, now: now)
        }
        #expect(rate.limit == nil)
    }

    @Test func refusalHalvesTheRecentRate() {
        var rate = AdaptiveRate()
        for second in 0..<5 { rate.noteWritten(1000, now: start + .seconds(second)) }
        rate.noteRefusal(now: start + .seconds(5))
        #expect(rate.limit == 500)
    }

    @Test func refusalsOfConcurrentWritesCountOnce() {
        var rate = AdaptiveRate()
        for second in 0..<5 { rate.noteWritten(1000, now: start + .seconds(second)) }
        for writer in 0..<4 { rate.noteRefusal(now: start + .seconds(5) + .milliseconds(writer * 200)) }
        #expect(rate.limit == 500)
        rate.noteWritten(1, now: start + .seconds(5) + .milliseconds(900))
        rate.noteRefusal(now: start + .seconds(7))
        #expect(rate.limit == 250)
    }

    @Test func noWriteBeginsBeforeRetryAfter() {
        var rate = AdaptiveRate()
        rate.noteRefusal(retryAfter: .seconds(30), now: start)
        #expect(rate.reserveTime(for: 1, now: start + .seconds(1)) == start + .seconds(30))
    }

    /// All writers except the first continued after ten seconds.
    @Test(arguments: [true, false])
    func everyWriterWaitsForRetryAfter(hasLimit: Bool) {
        var rate = AdaptiveRate()
        if hasLimit { rate.noteRefusal(now: start) }
        rate.noteWritten(100, now: start)
        rate.noteRefusal(retryAfter: .seconds(60), now: start + .milliseconds(500))
        for writer in 0..<20 {
            let time = rate.reserveTime(for: 100, now: start + .seconds(1 + writer))
            #expect(time >= start + .milliseconds(60_500), "writer \(writer)")
            #expect(time <= start + .milliseconds(70_500), "writer \(writer)")
        }
    }

    @Test func acceptedWriteDoesNotEndRetryAfter() {
        var rate = AdaptiveRate()
        rate.noteRefusal(retryAfter: .seconds(60), now: start)
        for second in 1..<50 { rate.noteWritten(5000, now: start + .seconds(second)) }
        #expect(rate.reserveTime(for: 1, now: start + .seconds(50)) >= start + .seconds(60))
        rate.noteRefusal(retryAfter: .seconds(1), now: start + .seconds(51))
        #expect(rate.reserveTime(for: 1, now: start + .seconds(52)) >= start + .seconds(60))
    }

    @Test func rateStaysBelowTheRefusedRateAndRecovers() {
        var rate = AdaptiveRate()
        rate.noteWritten(1000, now: start)
        rate.noteRefusal(now: start + .seconds(1))
        let limit = rate.limit ?? 0
        let slow = write(&rate, 50, for: .seconds(2), from: start + .seconds(1))
        #expect(Double(slow.documents) <= limit * 2 * 1.5)
        #expect(slow.documents > 0)
        let later = write(&rate, 50, for: .seconds(120), from: slow.end)
        #expect(later.documents > slow.documents)
        #expect(rate.limit == nil)
    }

    /// If no write succeeds, refusals are no evidence of the rate: an outage must not slow down later writes.
    @Test func outageLowersTheRateOnce() {
        var rate = AdaptiveRate()
        for second in 0..<100 { rate.noteRefusal(now: start + .seconds(second * 2)) }
        #expect(rate.limit == 500)
        let later = write(&rate, 250, for: .seconds(15), from: start + .seconds(200))
        #expect(later.documents >= 1500)
        #expect(rate.limit == nil)
    }

    @Test func rateHasAMinimum() {
        var rate = AdaptiveRate()
        for second in 0..<100 {
            rate.noteWritten(1, now: start + .seconds(second * 2))
            rate.noteRefusal(now: start + .seconds(second * 2) + .milliseconds(100))
        }
        #expect(rate.limit == 10)
        _ = rate.reserveTime(for: 1000, now: start + .seconds(200))
        #expect(rate.reserveTime(for: 1, now: start + .seconds(200)) <= start + .seconds(210))
    }
}
