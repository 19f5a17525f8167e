import Fleet
import FleetEngine
import Foundation
import Glibc
import Locking
import PostgreSQL
import TestKit
import Testing

@Suite(
    .limitedParallelism)
struct PreparationTests {
    @Test(arguments: 1...5) func severalMembersCreateTheTablesAtOnce(_ round: Int) async throws {
        let bed = try TestBed()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 { group.addTask { _ = try await bed.prepared("\(number)") } }
            try await group.waitForAll()
        }
        #expect(try await bed.log("a").renew().free == [0, 1, 2, 3])
    }

    @Test func otherNumberOfPartitionsIsRefused() async throws {
        let bed = try TestBed()
        _ = try await bed.prepared("a")
        await #expect {
            try await bed.log("b", partitions: 8).prepare()
        } throws: { error in
            guard case WorkLogError.refused(let reason) = error else { return false }
            return reason.contains("4 partitions")
        }
        await #expect(throws: WorkLogError.self) { try await bed.log("b", partitions: 0).prepare() }
    }

    /// They may reappear, for example with a restored dump.
    @Test func callWithoutTablesMayBeRetried() async throws {
        let bed = try TestBed()
        await #expect {
            try await bed.log("a").renew()
        } throws: { error in
            if case WorkLogError.unavailable = error { true } else { false }
        }
    }

    @Test func stoppedServerIsUnavailable() async throws {
        let server = try TestPostgres()
        let bed = try TestBed(server)
        let log = try await bed.prepared("a")
        server.stop()
        await #expect {
            try await log.renew()
        } throws: { error in
            if case WorkLogError.unavailable = error { true } else { false }
        }
        try server.start()
        #expect(try await log.renew().workers == 1)
    }

    @Test func roleWithoutPrivilegesSuffices() async throws {
        let bed = try TestBed()
        let role = bed.server.uniqueName("role")
        let schema = PostgresConnection.quotedIdentifier(bed.schema)
        try await bed.run("CREATE ROLE \(role) LOGIN", "CREATE SCHEMA \(schema) AUTHORIZATION \(role)")
        let address = try PostgresAddress("postgres://\(role)@127.0.0.1:\(bed.server.port)/postgres")
        let log = bed.log("a", through: address)
        try await bed.prepare(log, through: address)
        let before = try await log.incarnation()
        #expect(try await log.claim([0, 1], atMost: 2).count == 2)
        // The superuser can read more of the server, and finds the same incarnation.
        #expect(try await bed.log("b").incarnation() == before)
        #expect(try await log.renew().leases.count == 2)
    }

    /// Regression: each start needed the privilege to create objects.
    @Test func roleThatMayOnlyUseTheTablesSuffices() async throws {
        let bed = try TestBed()
        let maker = bed.log("maker")
        try await bed.prepare(maker)
        try await bed.run(
            "DELETE FROM partition_position", "DELETE FROM lease WHERE name <> 'feed'",
            "UPDATE fleet SET partitions = NULL")
        let role = bed.server.uniqueName("role")
        let schema = PostgresConnection.quotedIdentifier(bed.schema)
        try await bed.run(
            "CREATE ROLE \(role) LOGIN", "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role)")
        let address = try PostgresAddress("postgres://\(role)@127.0.0.1:\(bed.server.port)/postgres")
        let log = bed.log("a", through: address)
        try await bed.prepare(log, through: address)
        #expect(try await log.renew().free == [0, 1, 2, 3])
        let (claim, before) = (try await log.take(1), log.membership)
        try await log.fill([id(1)])
        _ = try await log.commit(claim, PartitionOutcome(position: 1))
        // Another incarnation voids the membership.
        try await bed.run("UPDATE fleet SET timeline = '00000000'")
        #expect(try await log.renew().leases.isEmpty)
        #expect(log.membership != before)
    }

    // MARK: Incarnations

    @Test func restoredDumpIsANewIncarnation() async throws {
        let bed = try TestBed()
        let log = try await bed.prepared("a")
        let (claim, before) = (try await log.take(1), try await log.incarnation())
        // Like a restored dump: the same rows in new tables.
        try await bed.run(
            "ALTER TABLE fleet RENAME TO old", "CREATE TABLE fleet (LIKE old INCLUDING ALL)",
            "INSERT INTO fleet TABLE old", "DROP TABLE old")
        let renewal = try await log.renew()
        #expect(renewal.leases.isEmpty && renewal.free.isEmpty)
        let after = try await log.incarnation()
        #expect(after != before)
        await expectFenced { try await log.commit(claim, PartitionOutcome(position: 0)) }
        #expect(try await log.claim([1], atMost: 1).isEmpty)
        #expect(try await log.lead() == nil)
        try await bed.pass(bed.leaseTime + .milliseconds(100))
        #expect(try await log.take(1).lease.incarnation == after)
    }

    /// As after the promotion of a standby, or a recovery from a backup.
    @Test func otherTimelineIsANewIncarnation() async throws {
        let server = try TestPostgres(settings: ["restore_command=false"])
        // Longer than the rest of this test takes on a busy machine.
        let bed = try TestBed(server, leaseTime: .seconds(120))
        let log = try await bed.prepared("a")
        let (claim, before) = (try await log.take(1), try await log.incarnation())
        server.stop(signal: SIGINT)
        try server.start()
        #expect(try await Self.retried { try await log.renew() }.leases == [claim.lease])
        server.stop(signal: SIGINT)
        try #require(creat(server.socketFolder + "/data/recovery.signal", 0o644) >= 0)
        try server.start()
        // Any call may notice it.
        await expectFenced { try await Self.retried { try await log.commit(claim, PartitionOutcome(position: 0)) } }
        #expect(try await Self.retried { try await log.incarnation() } != before)
        #expect(try await Self.retried { try await log.renew() } == Renewal(leases: [], workers: 1, free: []))
    }

    /// Each connection of a server that was restarted fails once, and while the server recovers.
    private static func retried<Result>(_ body: () async throws -> Result) async throws -> Result {
        for _ in 0..<100 {
            do { return try await body() } catch WorkLogError.unavailable {} catch WorkLogError.unknownCommit {}
            try await Task.sleep(for: .milliseconds(100))
        }
        return try await body()
    }

    @Test func changeOfTheServerIsDetectedOnce() async throws {
        let bed = try TestBed()
        let logs = ["a", "b", "c", "d"].map { bed.log($0) }
        try await bed.prepare(logs[0])
        for log in logs { _ = try await log.renew() }
        try await bed.run("UPDATE fleet SET timeline = '00000000'")
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for log in logs { group.addTask { try await log.incarnation() } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(found.count == 1)
        #expect(try await logs[3].renew().free.isEmpty)
    }

    // MARK: Fencing other writes

    private static func isFenced(
        _ bed: TestBed, _ body: @escaping @Sendable (PostgresConnection) throws -> Void
    ) async throws -> Bool {
        let queue = bed.queue()
        defer { queue.close() }
        do {
            try await queue.perform { connection in try connection.transaction { try body($0) } }
            return false
        } catch WorkLogError.fenced { return true }
    }

    @Test func memberWithoutLeasesLosesItsMembership() async throws {
        let bed = try TestBed()
        let (first, second) = (try await bed.prepared("a"), try await bed.prepared("b"))
        _ = try await first.renew()
        _ = try await first.take(1)
        let membership = first.membership
        #expect(try await !Self.isFenced(bed) { try PostgresWorkLog.lockMember("a", membership: membership, $0) })
        try await bed.pass(bed.leaseTime + .milliseconds(100))
        // Expired, but no other member took its leases.
        #expect(try await !Self.isFenced(bed) { try PostgresWorkLog.lockMember("a", $0) })
        _ = try await second.take(1)
        #expect(try await Self.isFenced(bed) { try PostgresWorkLog.lockMember("a", $0) })
        // It rejoins with another membership.
        _ = try await first.renew()
        #expect(try await !Self.isFenced(bed) { try PostgresWorkLog.lockMember("a", $0) })
        #expect(try await Self.isFenced(bed) { try PostgresWorkLog.lockMember("a", membership: membership, $0) })
        #expect(first.membership != membership)
    }

    @Test func takeoverWaitsForAWriteOfTheOldOwner() async throws {
        let bed = try TestBed()
        let (first, second) = (try await bed.prepared("a"), try await bed.prepared("b"))
        _ = try await first.renew()
        _ = try await first.take(1)
        try await bed.pass(bed.leaseTime + .milliseconds(100))
        let queue = bed.queue()
        let (holder, mayEnd) = (Monitor(0), Locked(false))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await queue.perform { connection in
                    try connection.transaction { connection in
                        try PostgresWorkLog.lockMember("a", connection)
                        holder.with { $0 = connection.processID }
                        while !mayEnd.withLock({ $0 }) { try connection.run("SELECT pg_sleep(0.01)") }
                    }
                }
            }
            await holder.wait { $0 != 0 }
            group.addTask { _ = try await second.take(1) }
            // Otherwise the time limit ends this.
            let blocked = "SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))"
            let server = bed.queue()
            defer { server.close() }
            while try await server.perform({ try $0.run(blocked, [.int(holder.quietly { $0 })]).rows.isEmpty }) {}
            mayEnd.withLock { $0 = true }
            try await group.waitForAll()
        }
        queue.close()
    }
}
