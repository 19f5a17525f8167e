import Fleet
import FleetEngine
import Foundation
import Locking
import PostgreSQL
import TestKit
import Testing

/// A fleet with failing networks, standby servers and mistakes of operators. Each document's last change has its
/// effect, and no two members act for the same partition.
@Suite(.serialized, .limitedParallelism(isLong: true)) struct FleetTroubleTests {
    private static func fleet(
        _ server: TestPostgres? = nil, standby: TestPostgres? = nil, entries: Int = 40_000
    ) async throws -> TestFleet {
        let bed = try TestBed(server, standby: standby, leaseTime: .seconds(2), partitions: 32)
        try await bed.prepared("maker").close()
        return TestFleet(bed, FixedFeed(entries, of: 2_000))
    }

    // MARK: - Standby servers

    /// How many changes the log of a standby server ever had.
    private static func appended(_ standby: TestPostgres, _ bed: TestBed) throws -> Int {
        var settings = PostgresSettings()
        settings.schema = bed.schema
        let address = try PostgresAddress(standby.url(query: "?target_session_attrs=any"))
        return try PostgresConnection(address, password: nil, settings: settings)
            .run("SELECT n FROM fleet").rows[0][0].int ?? 0
    }

    @Test func promotedSynchronousStandbyHasAllThatWasAcknowledged() async throws {
        let primary = try TestPostgres(settings: ["synchronous_standby_names=*"])
        let standby = try TestPostgres(standbyOf: primary)
        let fleet = try await Self.fleet(primary, standby: standby)
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        await fleet.wait(for: 8_000)
        primary.stop()
        let acknowledged = fleet.appended
        try standby.promote()
        #expect(try Self.appended(standby, fleet.bed) >= acknowledged)
        try await fleet.finish()
    }

    /// It grants the same tokens again.
    @Test func promotedStandbyWithoutTheLastTransactionsRepeatsChanges() async throws {
        let primary = try TestPostgres()
        let standby = try TestPostgres(standbyOf: primary)
        let fleet = try await Self.fleet(primary, standby: standby)
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        await fleet.wait(for: 8_000)
        standby.stop(signal: SIGINT)
        await fleet.wait(for: 16_000)
        primary.stop()
        let acknowledged = fleet.appended
        try standby.start()
        #expect(try Self.appended(standby, fleet.bed) < acknowledged)
        try standby.promote()
        try await fleet.finish()
    }

    // MARK: - Connections

    @Test(arguments: [TestRelay.Trouble.cut, .silence, .noAnswers, .delay(.seconds(2))])
    func memberThatCannotReachTheEngineIsReplaced(trouble: TestRelay.Trouble) async throws {
        let fleet = try await Self.fleet()
        let relay = try TestRelay(to: fleet.bed.server.port)
        let address = "postgres://postgres@127.0.0.1:\(relay.port)/postgres?sslmode=disable"
        fleet.start("a", through: try PostgresAddress(address))
        try await fleet.wait(untilHolds: true, "a")
        for owner in ["b", "c"] { fleet.start(owner) }
        await fleet.wait(for: 8_000)
        relay.suffer(trouble)
        // A member with a slow connection may keep its leases.
        if case .delay = trouble {} else { try await fleet.wait(untilHolds: false, "a") }
        await fleet.wait(for: 24_000)
        relay.suffer(.none)
        try await fleet.finish()
    }

    // MARK: - Joining, leaving, and too much work

    @Test func membersMayJoinAndLeaveWhileChangesCome() async throws {
        let fleet = try await Self.fleet(entries: 60_000)
        fleet.start("a")
        for (owner, place) in [("b", 5_000), ("c", 12_000), ("d", 20_000)] {
            await fleet.wait(for: place)
            fleet.start(owner)
            try await fleet.wait(untilHolds: true, owner)
        }
        for (owner, place) in [("d", 30_000), ("b", 40_000), ("a", 50_000)] {
            await fleet.wait(for: place)
            try await fleet.stop(owner)
        }
        try await fleet.finish()
        let owners = fleet.recorder.effects.with { Set($0.map(\.owner)) }
        #expect(owners.count > 1)
    }

    @Test func leaderReadsNoFurtherWhileTooManyChangesWait() async throws {
        let fleet = try await Self.fleet(entries: 20_000)
        let limit = 2_000
        fleet.start("a", role: .reader) { $0.leader.backlogLimit = limit }
        func isFull() -> Bool {
            fleet.notes.withLock { $0.contains { if case .backlogFull = $0 { true } else { false } } }
        }
        while !isFull() { try await Task.sleep(for: .milliseconds(20)) }
        let entries = try await fleet.bed.run("SELECT count(*) FROM work")[0][0].int ?? 0
        #expect(entries > limit && entries <= limit + FleetSettings().leader.appendLimit)
        #expect(fleet.appended == entries)
        fleet.start("b", role: .worker)
        try await fleet.finish()
    }
}
