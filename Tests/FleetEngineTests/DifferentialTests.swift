import Fleet
import FleetEngine
import Locking
import PostgreSQL
import TestKit
import Testing

/// Random calls to a log in PostgreSQL and to one in memory have the same answers.
@Suite(.serialized, .limitedParallelism) struct DifferentialTests {
    @Test(arguments: 1...8) func postgresAndMemoryAnswerTheSame(_ seed: UInt64) async throws {
        let bed = try TestBed(leaseTime: DifferentialWorld.leaseTime, partitions: DifferentialWorld.partitions)
        let world = try await DifferentialWorld(
            seed: seed,
            DifferentialTestBed(
                member: { try await bed.prepared($0, works: $1) }, pass: { try await bed.pass($0) },
                save: { try await bed.save() }, restore: { try await bed.restore() }, dead: { try await bed.dead() }))
        try await world.compare(steps: 250)
    }
}
