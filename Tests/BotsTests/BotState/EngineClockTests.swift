import Locking
import Testing

@testable import BotState

@Suite struct EngineClockTests {
    private let machine = Locked(10_000)
    private let onDifference = Locked<[Int]>([])
    private let start = ContinuousClock.now

    private func clock() -> EngineClock {
        let clock = EngineClock()
        clock.watch { [machine] in
            machine.withLock { $0 }
        } _: { [onDifference] lead in
            onDifference.withLock { $0.append(lead) }
        }
        return clock
    }

    @Test func engineTimeIsUsedOnceKnown() {
        let clock = clock()
        #expect(clock.now(start) == 10_000)
        clock.note(5_000_500, sent: start, answered: start + .seconds(1))
        // The engine's time is taken as that of the middle of the call.
        #expect(clock.now(start + .milliseconds(999)) == 5_000)
        #expect(clock.now(start + .seconds(1)) == 5_001)
        // Setting the machine's clock does not change it.
        machine.withLock { $0 = 90_000 }
        #expect(clock.now(start + .seconds(61)) == 5_061)
    }

    /// Even a slow first answer is better than the machine's clock, which may be hours off.
    @Test func slowAnswerIsIgnoredUnlessItIsTheFirst() {
        let clock = clock()
        clock.note(5_000_000, sent: start, answered: start + .seconds(4))
        #expect(clock.now(start + .seconds(2)) == 5_000 && onDifference.withLock { $0 }.isEmpty)
        clock.note(7_000_000, sent: start, answered: start + .seconds(3))
        #expect(clock.now(start + .seconds(2)) == 5_000)
    }

    @Test func clockDifferenceAndItsEndAreLoggedOnce() {
        let clock = clock()
        for time in [9_996, 13_600, 13_601, 10_004, 10_000, 9_000] {
            clock.note(time * 1000, sent: start, answered: start)
        }
        #expect(onDifference.withLock { $0 } == [-3_600, 0, 1_000])
    }
}
