import Testing

@testable import HelperProcesses

@Suite struct CallTimeTests {
    private let start = ContinuousClock.now

    /// The results of checks one second apart, on a process that uses this share of each second.
    private func checkResults(_ looks: Int, using share: Duration?) -> [Bool] {
        var time = CallTime(start: start)
        return (1...looks).map { second in
            // Time used by earlier calls does not count.
            let used = share.map { .seconds(50) + $0 * second }
            return time.isUp(.seconds(2), now: start + .seconds(second), used: used)
        }
    }

    @Test func elapsedTimeCountsOnAnIdleMachine() {
        #expect(checkResults(4, using: .seconds(1)) == [false, false, true, true])
    }

    @Test func processorTimeCountsOnABusyMachine() {
        #expect(checkResults(10, using: .milliseconds(250)).firstIndex(of: true) == 8)
    }

    @Test func callWithoutProcessorTimeEndsEventually() {
        #expect(checkResults(21, using: .zero).firstIndex(of: true) == 19)
    }

    @Test func elapsedTimeCountsIfProcessorTimeIsUnknown() {
        #expect(checkResults(3, using: nil) == [false, true, true])
    }
}
