import Fleet
import FleetEngine
import Foundation
import Glibc
import Locking
import TestKit
import Testing

@Suite(
    .serialized, .limitedParallelism)
struct FleetOnPostgresTests {
    private static func fleet(_ server: TestPostgres? = nil, entries: Int = 20_000) async throws -> TestFleet {
        let bed = try TestBed(server, leaseTime: .seconds(2), partitions: 32)
        let log = try await bed.prepared("maker")
        log.close()
        return TestFleet(bed, FixedFeed(entries, of: 2_000))
    }

    @Test func fourMembersShareTheWork() async throws {
        let fleet = try await Self.fleet()
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        try await fleet.finish()
        let owners = fleet.recorder.effects.with { Set($0.map(\.owner)) }
        #expect(owners.count > 1)
    }

    @Test func leavingAndJoiningMembersLoseNoChange() async throws {
        let fleet = try await Self.fleet(entries: 40_000)
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        await fleet.wait(for: 8_000)
        await fleet.cancel("b")
        fleet.start("e")
        await fleet.wait(for: 20_000)
        await fleet.cancel("a")
        try await fleet.finish()
    }

    @Test func killedServerLosesNothing() async throws {
        let server = try TestPostgres()
        let fleet = try await Self.fleet(server, entries: 40_000)
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        for round in 1...3 {
            await fleet.wait(for: round * 10_000)
            server.stop(signal: SIGKILL)
            try await Task.sleep(for: .milliseconds(200))
            try server.start()
        }
        try await fleet.finish()
        #expect(fleet.notes.withLock { $0.contains { if case .unavailable = $0 { true } else { false } } })
    }

    @Test func serverPausedForLongerThanALeaseLosesNothing() async throws {
        let server = try TestPostgres()
        let fleet = try await Self.fleet(server)
        for owner in ["a", "b", "c", "d"] { fleet.start(owner) }
        await fleet.wait(for: 8_000)
        server.freeze()
        try await Task.sleep(for: .milliseconds(3500))
        server.thaw()
        try await fleet.finish()
    }
}
