import Locking
import Testing

@Suite struct SignalTests {
    @Test func earlierSignalEndsOnlyTheNextWait() async throws {
        let signal = Signal()
        signal.raise()
        signal.raise()
        try await signal.wait()
        let deadline = ContinuousClock.now + .milliseconds(10)
        try await signal.wait(until: deadline)
        #expect(.now >= deadline)
    }

    @Test func signalEndsAWaitBeforeItsDeadline() async throws {
        let signal = Signal()
        let deadline = ContinuousClock.now + .seconds(3600)
        async let wait: Void = signal.wait(until: deadline)
        signal.raise()
        try await wait
        #expect(.now < deadline)
    }

    @Test func cancelledWaitLeavesNoSignal() async throws {
        let signal = Signal()
        let waiting = Task { try await signal.wait() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let deadline = ContinuousClock.now + .milliseconds(10)
        try await signal.wait(until: deadline)
        #expect(.now >= deadline)
    }
}
