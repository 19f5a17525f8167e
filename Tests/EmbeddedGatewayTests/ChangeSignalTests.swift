import TestKit
import Testing

@testable import EmbeddedGateway

@Suite(.limitedParallelism) struct ChangeSignalTests {
    @Test func waitForAPassedSequenceReturnsAtOnce() async {
        let signal = ChangeSignal(lastSequence: 5)
        await signal.wait(past: 4)
    }

    @Test func commitWakesOnlyTasksThatWaitForIt() async throws {
        let signal = ChangeSignal(lastSequence: 5)
        let near = Task { await signal.wait(past: 5) }
        let far = Task { await signal.wait(past: 100) }
        while signal.waitingCount < 2 { await Task.yield() }
        signal.advance(to: 6)
        await near.value
        #expect(signal.waitingCount == 1)
        far.cancel()
        await far.value
        #expect(signal.waitingCount == 0)
    }

    @Test func cancelledWaitReturns() async {
        let signal = ChangeSignal(lastSequence: 0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2_000 { group.addTask { await signal.wait(past: 0) } }
            group.cancelAll()
        }
        #expect(signal.waitingCount == 0)
    }

    @Test func deadlineEndsTheWait() async throws {
        let signal = ChangeSignal(lastSequence: 0)
        #expect(try await signal.wait(past: 0, until: .now) == false)
        #expect(signal.waitingCount == 0)
    }
}
