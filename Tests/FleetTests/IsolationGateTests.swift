import Locking
import Testing

@testable import Fleet

@Suite struct IsolationGateTests {
    private let gate = IsolationGate()
    private let signal = Signal()

    @Test func manyShareOrOneIsAlone() {
        #expect(gate.share(0, signal) && gate.share(1, signal))
        #expect(!gate.enterExclusively(2, signal))
        gate.leave(isIsolated: false)
        #expect(!gate.enterExclusively(2, signal))
        gate.leave(isIsolated: false)
        #expect(gate.enterExclusively(2, signal))
        #expect(!gate.share(0, signal) && !gate.enterExclusively(1, signal))
        gate.leave(isIsolated: true)
        #expect(gate.enterExclusively(1, signal))
    }

    @Test func partitionThatWaitsToBeAloneGoesFirst() {
        #expect(gate.share(0, signal))
        #expect(!gate.enterExclusively(1, signal))
        #expect(!gate.share(2, signal))
        gate.withdraw(1)
        #expect(gate.share(2, signal))
    }

    @Test func refusedPartitionIsWoken() async throws {
        #expect(gate.share(0, signal))
        #expect(!gate.enterExclusively(1, signal))
        gate.leave(isIsolated: false)
        try await signal.wait()
        #expect(gate.enterExclusively(1, signal))
        #expect(!gate.share(0, signal))
        gate.leave(isIsolated: true)
        try await signal.wait()
        #expect(gate.share(0, signal))
    }
}
