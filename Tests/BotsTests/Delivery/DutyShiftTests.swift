import DocumentFlow
import Locking
import Logging
import ServiceLifecycle
import Testing

@testable import Delivery

/// How a run attends to its duties.
@Suite struct DutyShiftTests {
    /// Always has something left.
    private struct EndlessDuty: Duty {
        let woken = Signal()
        let looks: Monitor<[DutyOccasion]>

        mutating func look(_ occasion: DutyOccasion, _ bringer: any Bringer) async throws -> DutyLook {
            looks.with { $0.append(occasion) }
            await Task.yield()
            return DutyLook(hasBrought: true)
        }
    }

    private struct Run: Service {
        let shift: DutyShift

        func run() async throws { try await shift.attend {} }
    }

    @Test(.timeLimit(.minutes(1))) func stoppedRunLeavesRemainingDuties() async throws {
        let looks = Monitor<[DutyOccasion]>([])
        let flow = CandidateFlow(queue: CandidateQueue(), budget: MemoryBudget(MemoryPool(bytes: 1000), documents: 10))
        let shift = DutyShift(makers: [{ EndlessDuty(looks: looks) }], flow: flow, endsOnceSettled: true)
        let group = ServiceGroup(services: [Run(shift: shift)], logger: Logger(label: "duties"))
        async let ended: Void = group.run()
        await looks.wait { $0.count { $0 == .settled } > 2 }
        await group.triggerGracefulShutdown()
        try await ended
        #expect(looks.quietly(\.self).last == .stopping)
    }

    /// A short feed may end before the task of a duty begins.
    @Test(.timeLimit(.minutes(1))) func dutyLooksOnceAlthoughTheFeedHasEnded() async throws {
        struct NoBringer: Bringer {
            let isDurable = false
            func room() async throws -> Bool { true }
            func bring(_ candidates: [Candidate]) async throws -> Int { candidates.count }
            func untilSettled() async throws -> Bool { true }
        }
        let looks = Monitor<[DutyOccasion]>([])
        var duty = EndlessDuty(looks: looks)
        try await duty.work(NoBringer(), until: Monitor(true))
        #expect(looks.quietly(\.self) == [.besideFeed])
    }
}
