import Fleet
import Testing

/// A check that cannot fail is worse than none: with a mistake in the log, the simulation finds something.
@Suite(.serialized) struct SimulationNoticesTests {
    @Test(arguments: BrokenWorkLog.Mistake.allCases)
    fileprivate func theSimulationNotices(_ mistake: BrokenWorkLog.Mistake) {
        let found = firstViolation { World(seed: $0) { BrokenWorkLog($0, $1, mistake) } }
        #expect(found != nil)
    }

    @Test func simulationDetectsTenuresThatOutliveTheirLease() {
        let found = firstViolation { seed in
            let world = World(seed: seed)
            world.settings.margin = .seconds(-3)
            return world
        }
        #expect(found != nil)
    }

    @Test func simulationDetectsLeasesGrantedRightAfterALoss() {
        let found = firstViolation { World(seed: $0, quietTime: .zero) }
        #expect(found != nil)
    }

    private func firstViolation(_ world: (UInt64) -> World) -> String? {
        // First those that have found one: to come to the 49th takes 1.5 million steps.
        for seed in [1, 49, 9, 4] + Array(UInt64(2)...200) {
            let world = world(seed)
            if let violation = world.run(steps: 30_000).first {
                print("seed \(seed), \(world.scheduler.steps) steps: \(violation.prefix(200))")
                return violation
            }
        }
        return nil
    }
}
