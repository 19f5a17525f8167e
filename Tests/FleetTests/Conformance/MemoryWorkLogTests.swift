import Fleet
import Locking
import TestKit
import Testing

/// A clock that a test moves. A sleep also moves it.
final class ManualClock: FleetClock {
    private let time = Locked(Duration.zero)

    var now: Duration { time.withLock { $0 } }

    func sleep(until deadline: Duration) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline) }
    }

    func pass(_ time: Duration) { self.time.withLock { $0 += time } }
}

@Suite struct MemoryWorkLogTests {
    private let clock = ManualClock()

    @Test(arguments: WorkLogConformance.rules) func conformsToTheContract(_ rule: WorkLogConformance) async throws {
        let engine = MemoryEngine(partitions: 4, time: { [clock] in clock.now })
        let snapshot = Locked<MemoryEngine.Snapshot?>(nil)
        let bed = WorkLogTestBed(
            member: { [clock] in MemoryWorkLog(engine, owner: $0, link: MemoryLink(clock: clock), clock: clock) },
            pass: { [clock] in clock.pass($0) },
            loseCommits: {
                if let old = snapshot.withLock({ $0 }) { engine.restore(old) }
                snapshot.withLock { $0 = engine.snapshot }
            })
        try await rule.check(bed)
    }

    private func member(_ history: Int = 0) -> (MemoryWorkLog<MemoryLink>, MemoryLink, MemoryEngine) {
        let engine = MemoryEngine(partitions: 4, history: history, time: { [clock] in clock.now })
        let link = MemoryLink(clock: clock)
        return (MemoryWorkLog(engine, owner: "a", link: link, clock: clock), link, engine)
    }

    @Test func lostAnswerBelongsToAStoredCommit() async throws {
        let (log, link, engine) = member()
        let term = try #require(try await log.lead())
        link.faults.answersToLose = 1
        await #expect(throws: WorkLogError.unknownCommit("a fault: the answer is lost")) {
            try await log.append([entry(1, id(0))], upTo: "1", term)
        }
        #expect(engine.checkpoint.n == 1)
        #expect(try await log.lead()?.sequence == "1")
    }

    @Test func unavailableEngineChangesNothing() async throws {
        let (log, link, engine) = member()
        let term = try #require(try await log.lead())
        link.faults.isUnavailable = true
        await #expect(throws: WorkLogError.unavailable("a fault")) {
            try await log.append([entry(1, id(0))], upTo: "1", term)
        }
        #expect(engine.checkpoint.n == 0)
    }

    @Test func frozenEngineAnswersLateOrNever() async throws {
        let (log, link, _) = member()
        link.faults.isFrozen = true
        link.faults.latency = .milliseconds(50)
        await #expect(throws: WorkLogError.unavailable("the engine is frozen")) { try await log.renew() }
        #expect(clock.now == .milliseconds(3050))
    }

    @Test func lastCommitsCanBeLost() async throws {
        let (log, _, engine) = member(10)
        for _ in 0..<2 { try await log.fill([id(0)]) }
        #expect(engine.checkpoint.n == 2)
        engine.loseTail(commits: 2)
        #expect(engine.checkpoint.n == 1)
        engine.loseTail(commits: 99)
        #expect(engine.checkpoint.n == 0)
    }

    @Test func recreatedEngineIsEmpty() async throws {
        let (log, _, engine) = member()
        try await log.fill([id(0)])
        engine.wipe()
        clock.pass(.seconds(6))
        #expect(try await log.lead()?.sequence == nil)
    }
}
