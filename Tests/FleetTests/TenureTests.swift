import Locking
import TestKit
import Testing

@testable import Fleet

@Suite struct TenureTests {
    private let clock = ManualClock()
    private let lease = Lease(name: .partition(3), token: 7, incarnation: "1")

    @Test func tenureEndsAtItsDeadline() {
        let tenure = Tenure(lease, until: .seconds(4), clock: clock)
        #expect(tenure.isValid(at: .milliseconds(3999)) && !tenure.isValid(at: .seconds(4)))
        tenure.extend(until: .seconds(3))
        #expect(tenure.deadline == .seconds(4))
        tenure.extend(until: .seconds(6))
        #expect(tenure.isValid(at: .seconds(5)))
        tenure.revoke()
        tenure.extend(until: .seconds(60))
        #expect(!tenure.isValid)
    }

    @Test func deadlineCountsFromTheSentRenewal() async throws {
        let engine = MemoryEngine(partitions: 4, time: { [clock] in clock.now })
        let link = MemoryLink(clock: clock)
        link.faults.latency = .seconds(2)
        let log = MemoryWorkLog(engine, owner: "a", link: link, clock: clock)
        let environment = FleetEnvironment(clock: clock)
        let renewer = LeaseRenewer(log: log, settings: FleetSettings(), environment: environment)
        let sentAt = clock.now
        let claim = try #require(try await log.claim([1], atMost: 1).first)
        let tenure = renewer.grant(claim.lease, sentAt: sentAt)
        #expect(clock.now == .seconds(2) && tenure.deadline == .seconds(4))
        renewer.drop(tenure)
        #expect(tenure.isRevoked)
    }

    @Test func leaseNamesRoundTrip() {
        #expect(LeaseName("feed") == .feed && LeaseName("63") == .partition(63))
        #expect(LeaseName("-1") == nil && LeaseName("x") == nil)
        #expect("\(LeaseName.partition(5))" == "5")
    }

    @Test func waitEndsWithTheSignalOrTheDeadline() async throws {
        let clock = SystemFleetClock()
        let signal = Signal()
        try await clock.wait(for: signal, until: clock.now)
        signal.raise()
        try await clock.wait(for: signal, until: clock.now + .seconds(60))
        try await clock.wait(for: signal, until: clock.now + .milliseconds(1))
        signal.raise()
        try await clock.wait(for: signal, until: nil)
    }
}
