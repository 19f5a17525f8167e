import Testing

@testable import HTTPTransport

@Suite struct ExchangeTimersTests {
    private let start = ContinuousClock.now

    private func timers(sendsBody: Bool) -> ExchangeTimers {
        ExchangeTimers(deadline: .seconds(300), idleTimeout: .seconds(50), sendsBody: sendsBody, now: start)
    }

    @Test func silenceEndsAnExchangeOnce() {
        var timers = timers(sendsBody: false)
        #expect(timers.due == start + .seconds(50))
        #expect(timers.timeout(at: start + .seconds(49), acknowledged: nil) == nil)
        #expect(timers.timeout(at: start + .seconds(50), acknowledged: nil) == .idle)
        timers.noteActivity(at: start + .seconds(40), isPaused: false)
        #expect(timers.due == start + .seconds(90))
    }

    @Test func pausedTransferDoesNotTimeOut() {
        var timers = timers(sendsBody: true)
        timers.noteActivity(at: start, isPaused: true)
        #expect(timers.due == start + .seconds(300))
        #expect(timers.timeout(at: start + .seconds(200), acknowledged: 0) == nil)
        #expect(timers.timeout(at: start + .seconds(300), acknowledged: 0) == .exchange)
    }

    /// On a slow network, the last megabytes of a body stay in the kernel's buffer for minutes.
    @Test func acknowledgedSlowUploadIsNotSilence() {
        var timers = ExchangeTimers(deadline: nil, idleTimeout: .seconds(50), sendsBody: true, now: start)
        var acknowledged = 0
        var now = start
        while now < start + .seconds(290), let due = timers.due {
            now = due
            acknowledged += 1
            #expect(timers.timeout(at: now, acknowledged: acknowledged) == nil)
        }
        #expect(now >= start + .seconds(250))
    }

    @Test(arguments: [nil, 1000])
    func unacknowledgedUploadTimesOut(acknowledged: Int?) {
        var timers = timers(sendsBody: true)
        #expect(timers.due == start + .seconds(25))
        #expect(timers.timeout(at: start + .seconds(25), acknowledged: acknowledged) == nil)
        #expect(timers.due == start + .seconds(50))
        #expect(timers.timeout(at: start + .seconds(50), acknowledged: acknowledged) == .idle)
    }
}
