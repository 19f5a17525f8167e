import Fleet
import TestKit
import Testing

/// The memberships of a log in memory: as in PostgreSQL, a member that was silent for too long must join again.
@Suite struct MembershipTests {
    private let clock = ManualClock()
    private let engine: MemoryEngine

    init() { engine = MemoryEngine(partitions: 2, time: { [clock] in clock.now }) }

    private func member(_ owner: String) async throws -> MemoryWorkLog<MemoryLink> {
        let log = MemoryWorkLog(
            engine, owner: owner, link: MemoryLink(clock: clock), clock: clock, endsWithMembership: true)
        try await log.join()
        return log
    }

    private func isMember(_ log: MemoryWorkLog<MemoryLink>) -> Bool {
        log.membership.map { engine.hasMembership(log.owner, $0) } ?? false
    }

    @Test func memberWhoseLeaseWasTakenMustJoinAgain() async throws {
        let (first, second) = (try await member("a"), try await member("b"))
        _ = try await first.claim([0, 1], atMost: 2)
        clock.pass(engine.leaseTime + .seconds(1))
        #expect(isMember(first))
        _ = try await second.renew()
        _ = try await second.claim([1], atMost: 1)
        #expect(!isMember(first) && isMember(second))
        await #expect(throws: WorkLogError.refused(WorkLogError.membershipIsOver)) { try await first.renew() }
        #expect(engine.holder(of: 0) == nil)
        try await first.join()
        #expect(isMember(first))
        #expect(try await first.renew().workers == 2)
    }

    @Test func lateMemberThatNobodyReplacedContinues() async throws {
        let log = try await member("a")
        _ = try await log.claim([0], atMost: 1)
        clock.pass(engine.leaseTime * 3)
        #expect(try await log.renew().leases.count == 1)
        #expect(isMember(log))
    }

    /// Its numbers are not used again.
    @Test func membershipEndsWithTheEnginesLastCommits() async throws {
        let log = try await member("a")
        let copy = engine.snapshot
        let former = try #require(log.membership)
        try await log.join()
        engine.restore(copy)
        #expect(!isMember(log))
        try await log.join()
        #expect(isMember(log) && !engine.hasMembership("a", former))
    }
}
