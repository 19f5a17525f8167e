import Locking
import Testing

@testable import Fleet

@Suite struct IsolationGateTests {
    private let gate = IsolationGate()
    private let signal = Signal()

    @Test func manyShareOrOneIsAlone() {
        #expect(gate.share(0, signal) && gate.share(1, signal))
        #expect(!gate.enterAlone(2, signal))
        gate.leave(isAlone: false)
        #expect(!gate.enterAlone(2, signal))
        gate.leave(isAlone: false)
        #expect(gate.enterAlone(2, signal))
        #expect(!gate.share(0, signal) && !gate.enterAlone(1, signal))
        gate.leave(isAlone: true)
        #expect(gate.enterAlone(1, signal))
    }

    @Test func partitionThatWaitsToBeAloneGoesFirst() {
        #expect(gate.share(0, signal))
        #expect(!gate.enterAlone(1, signal))
        #expect(!gate.share(2, signal))
        gate.withdraw(1)
        #expect(gate.share(2, signal))
    }

    @Test func refusedPartitionIsWoken() async throws {
        #expect(gate.share(0, signal))
        #expect(!gate.enterAlone(1, signal))
        gate.leave(isAlone: false)
        try await signal.wait()
        #expect(gate.enterAlone(1, signal))
        #expect(!gate.share(0, signal))
        gate.leave(isAlone: true)
        try await signal.wait()
        #expect(gate.share(0, signal))
    }
}
