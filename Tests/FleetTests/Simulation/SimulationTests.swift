import Foundation
import Testing

/// The whole fleet in virtual time, with everything that can go wrong. See ``World``.
///
/// `CHANGEBOT_SIMULATION_SEED` runs one seed; `CHANGEBOT_SIMULATION_STEPS` says for how many steps, over all seeds.
@Suite(.serialized) struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["CHANGEBOT_SIMULATION_SEED"].flatMap { UInt64($0) }
    private static let steps = environment["CHANGEBOT_SIMULATION_STEPS"].flatMap { Int($0) } ?? 500_000
    private static let stepsOfRun = 50_000

    @Test func noChangeIsLostOrProcessedByTwoMembers() {
        let begin = ContinuousClock.now
        var steps = 0
        var counts: [String: Int] = [:]
        var seed = Self.seed ?? 1
        while steps < Self.steps {
            let world = World(seed: seed)
            let violations = world.run(steps: Self.stepsOfRun)
            #expect(violations.isEmpty, "\(world.report)")
            steps += world.scheduler.steps
            for (kind, count) in world.oracle.counts { counts[kind, default: 0] += count }
            if !violations.isEmpty || Self.seed != nil { break }
            seed += 1
        }
        let time = begin.duration(to: .now)
        let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print("\(steps) steps in \(time): \(kinds)")
    }

    /// When each attempt counted in full, there were 44 in 1,367 kills.
    @Test func randomKillsSeldomMakeADocumentDead() {
        var (kills, dead) = (0, 0)
        for seed in UInt64(1)...12 {
            // Shorter than a lease, and many documents take longer.
            let world = World(seed: seed, .kills(meanLifetime: 4))
            let violations = world.run(steps: Self.stepsOfRun)
            #expect(violations.isEmpty, "\(world.report)")
            kills += world.oracle.counts["killed"] ?? 0
            dead += world.oracle.counts["dead, though good"] ?? 0
        }
        #expect(kills > 1_000 && dead <= 10)
        print("\(dead) documents dead after \(kills) kills")
    }

    /// Regression: each outage of the engine counted against the documents that were isolated at that time.
    @Test func noDocumentIsDeadIfNoProcessCrashes() {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...12 {
            let world = World(seed: seed, .outages)
            let violations = world.run(steps: Self.stepsOfRun)
            #expect(violations.isEmpty, "\(world.report)")
            for (kind, count) in world.oracle.counts { counts[kind, default: 0] += count }
        }
        #expect(counts["dead, though good"] == nil)
        // There were enough opportunities for mistakes.
        #expect(counts["taken over", default: 0] > 100 && counts["trouble", default: 0] > 1_000, "\(counts)")
    }

    /// All others are decided.
    @Test func documentThatCrashesEachProcessIsDead() {
        for seed in UInt64(1)...10 {
            let world = World(seed: seed, .fatalDocuments)
            let violations = world.run(steps: 5_000)
            #expect(violations.isEmpty, "\(world.report)")
            let fatal = world.gateway.documents.indices.filter {
                SimulatedProcessor.kills($0) && world.gateway.documents[$0]?.question ?? 0 > 0
            }
            #expect(world.oracle.deadRevisions.keys.sorted() == fatal.map(SimulatedGateway.id).sorted())
        }
    }

    @Test func seedReproducesTheRun() {
        let traces = (0..<2).map { _ in
            let world = World(seed: 4)
            #expect(world.run(steps: 10_000).isEmpty)
            return world.scheduler.trace
        }
        #expect(traces[0] == traces[1])
        // Printed to be compared between processes: the order of a dictionary, which differs, must not matter.
        print("trace \(traces[0])")
    }
}
