import Fleet
import FleetEngine
import PostgreSQL
import TestKit
import Testing

/// One member does all the work, or several share it.
@Suite(.limitedParallelism) struct DirectLeadTests {
    private static func bed() async throws -> TestBed {
        let bed = try TestBed()
        try await bed.prepare(bed.log("maker"))
        return bed
    }

    /// The member that holds the lead; nil: it was granted.
    private static func holder<Value>(_ entry: PostgresWorkLog.Entry<Value>) -> String? {
        if case .refused(let holder) = entry { holder } else { nil }
    }

    /// Lets every lease expire.
    private static func passLease(_ bed: TestBed) async throws {
        try await bed.pass(bed.leaseTime + .milliseconds(100))
    }

    private static func isMember(_ bed: TestBed, _ owner: String, _ membership: Int64?) async throws -> Bool {
        let queue = bed.queue()
        defer { queue.close() }
        do {
            try await queue.perform { connection in
                try connection.transaction { try PostgresWorkLog.lockMember(owner, membership: membership, $0) }
            }
            return true
        } catch WorkLogError.fenced { return false }
    }

    @Test func directLeaderKeepsAllOthersOut() async throws {
        let bed = try await Self.bed()
        let (first, second) = (bed.log("a", isDirect: true), bed.log("b", isDirect: true))
        let member = bed.log("c")
        #expect(try Self.holder(first.leadDirectly()) == nil)
        #expect(try Self.holder(second.leadDirectly()) == "test a")
        #expect(try await Self.holder(member.join()) == "test a")
        #expect(try await member.lead() == nil)
        try first.leaveNow { _ in }
        #expect(try Self.holder(second.leadDirectly()) == nil)
    }

    @Test func sharingMembersKeepADirectLeaderOut() async throws {
        let bed = try await Self.bed()
        let direct = bed.log("a", isDirect: true)
        let (reader, worker) = (bed.log("b", works: false), bed.log("c"))
        // Before any member reads the feed, the first one is named.
        #expect(try await Self.holder(worker.join()) == nil)
        #expect(try Self.holder(direct.leadDirectly()) == "test c")
        #expect(try await Self.holder(reader.join()) == nil)
        #expect(try await reader.lead() != nil)
        #expect(try Self.holder(direct.leadDirectly()) == "test b")
        try await reader.leave()
        #expect(try Self.holder(direct.leadDirectly()) == "test c")
        try await worker.leave()
        #expect(try Self.holder(direct.leadDirectly()) == nil)
    }

    @Test func renewalKeepsTheDirectLease() async throws {
        let bed = try await Self.bed()
        let (log, other) = (bed.log("a", isDirect: true), bed.log("b", isDirect: true))
        guard case .granted(let lease) = try log.leadDirectly() else {
            Issue.record("refused")
            return
        }
        let membership = log.membership
        for _ in 0..<3 {
            try await bed.pass(bed.leaseTime * 2 / 3)
            #expect(try await log.renew().leases == [lease])
        }
        #expect(log.membership == membership)
        #expect(try Self.holder(other.leadDirectly()) == "test a")
        // It does not share the work.
        #expect(try await bed.run("SELECT shares OR works FROM member")[0][0] == .int(0))
    }

    @Test(arguments: [false, true]) func successorOfASilentDirectLeaderEndsItsMembership(
        joins: Bool
    ) async throws {
        let bed = try await Self.bed()
        let log = bed.log("a", isDirect: true)
        _ = try log.leadDirectly()
        let membership = log.membership
        try await Self.passLease(bed)
        // Expired, but no other member took its leases.
        #expect(try await Self.isMember(bed, "a", membership))
        let next = bed.log("b", isDirect: !joins)
        #expect(try await Self.holder(joins ? next.join() : next.leadDirectly().withoutLease) == nil)
        #expect(try await !Self.isMember(bed, "a", membership))
        #expect(try await log.renew().leases.isEmpty)
        #expect(log.membership != membership)
    }

    @Test func directLeaderEndsTheMembershipOfSilentSharingMembers() async throws {
        let bed = try await Self.bed()
        let (worker, direct) = (bed.log("a"), bed.log("b", isDirect: true))
        _ = try await worker.join()
        let membership = worker.membership
        let claim = try await worker.take(1)
        try await Self.passLease(bed)
        #expect(try Self.holder(direct.leadDirectly()) == nil)
        #expect(try await !Self.isMember(bed, "a", membership))
        #expect(try await Self.isMember(bed, "b", direct.membership))
        try direct.leaveNow { _ in }
        // No other member took the partition.
        #expect(try await worker.refresh(claim) == claim)
    }

    @Test func restoredServerVoidsADirectLead() async throws {
        let bed = try await Self.bed()
        let (log, other) = (bed.log("a", isDirect: true), bed.log("b", isDirect: true))
        _ = try log.leadDirectly()
        let membership = log.membership
        try await bed.run("UPDATE fleet SET timeline = '00000000'")
        #expect(try await log.renew().leases.isEmpty)
        #expect(try await !Self.isMember(bed, "a", membership))
        try await log.leave()
        // Until the earlier leases would have expired.
        let holder = try Self.holder(other.leadDirectly())
        #expect(holder == "no member yet: the engine went back to an older state")
        try await Self.passLease(bed)
        #expect(try Self.holder(other.leadDirectly()) == nil)
    }

    /// As while a dump is restored. Afterwards the member continues.
    @Test func noMemberBeginsWithoutTheFleetRow() async throws {
        let bed = try await Self.bed()
        try await bed.run("CREATE TABLE old AS TABLE fleet", "DELETE FROM fleet")
        let direct = bed.log("a", isDirect: true)
        #expect {
            try direct.leadDirectly()
        } throws: { error in
            if case PostgresError.unavailable = error { true } else { false }
        }
        await #expect {
            try await bed.log("b").prepare()
        } throws: { error in
            if case WorkLogError.unavailable = error { true } else { false }
        }
        try await bed.run("INSERT INTO fleet TABLE old")
        #expect(try Self.holder(direct.leadDirectly()) == nil)
    }

    @Test(arguments: 1...5) func concurrentStartsGiveOneDirectLeaderOrSharingMembers(_ round: Int) async throws {
        let bed = try await Self.bed()
        let granted = try await withThrowingTaskGroup(of: (isDirect: Bool, isGranted: Bool).self) { group in
            for number in 0..<10 {
                let isDirect = (number + round).isMultiple(of: 2)
                let log = bed.log("\(number)", isDirect: isDirect)
                group.addTask {
                    let entry = isDirect ? try log.leadDirectly().withoutLease : try await log.join()
                    return (isDirect, Self.holder(entry) == nil)
                }
            }
            return try await group.reduce(into: [Bool]()) { if $1.isGranted { $0.append($1.isDirect) } }
        }
        #expect(granted == [true] || granted == Array(repeating: false, count: 5), "\(granted)")
    }
}

extension PostgresWorkLog.Entry {
    fileprivate var withoutLease: PostgresWorkLog.Entry<Void> {
        switch self {
        case .granted: .granted(())
        case .refused(let holder): .refused(holder: holder)
        }
    }
}
