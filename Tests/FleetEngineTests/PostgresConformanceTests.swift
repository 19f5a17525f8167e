import Fleet
import FleetEngine
import Locking
import TestKit
import Testing

@Suite(.serialized, .limitedParallelism) struct PostgresConformanceTests {
    @Test(arguments: WorkLogConformance.rules) func conformsToTheContract(_ rule: WorkLogConformance) async throws {
        // Only `pass` lets this much time pass.
        let bed = try TestBed(leaseTime: .seconds(300))
        let isSaved = Locked(false)
        try await rule.check(
            WorkLogTestBed(
                member: { try await bed.prepared($0) },
                pass: { try await bed.pass($0) },
                loseCommits: {
                    if isSaved.withLock({ $0 }) { try await bed.restore() }
                    isSaved.withLock { $0 = true }
                    try await bed.save()
                }))
    }
}
