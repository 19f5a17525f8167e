import LosslessJSON
import TestKit
import Testing

@testable import JQ

/// Programs that run in the process that asks, as in a simulation.
@Suite(.limitedParallelism) struct ProgramsInProcessTests {
    private static let programs = [
        ".+1", "error(\"no\")", ".a", "1, 2", "nan", ". as [$a] | $a", "[limit(9; repeat(\"x\" * 100000))] | add",
        "$now",
    ]

    private func outcomes(isInProcess: Bool) async throws -> [String] {
        let pool = pool(Self.programs) {
            $0.isInProcess = isInProcess
            $0.outputLimit = 1 << 16
        }
        defer { pool.shutdown() }
        let inputs = ["1", "12345678901234567890123", #"{"a":[1.10]}"#, "[3]"]
        let calls = try Self.programs.indices.flatMap { program in try inputs.map { try call(program, $0) } }
        let outcomes = await pool.run(calls)
        #expect(pool.processes.isEmpty == isInProcess)
        return outcomes.map { "\($0.texts ?? []) \($0.error.map { "\($0)" } ?? "")" }
    }

    @Test func outcomesAreThoseOfAHelperProcess() async throws {
        let outcomes = try await outcomes(isInProcess: true)
        #expect(outcomes.count == 4 * Self.programs.count)
        #expect(try await self.outcomes(isInProcess: false) == outcomes)
    }
}
