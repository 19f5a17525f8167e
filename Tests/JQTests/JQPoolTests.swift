import Glibc
import LosslessJSON
import TestKit
import Testing

@testable import JQ

/// Serialized, because some tests use a whole processor.
@Suite(.limitedParallelism, .serialized)
struct JQPoolTests {
    @Test
    func endlessProgramFailsAtItsDeadline() async throws {
        let pool = pool(["def f: f; f", ".+1"]) { $0.deadline = .seconds(2) }
        let outcomes = await pool.run([try call(1, "1"), try call(0), try call(1, "2"), try call(1, "3")])
        #expect(outcomes.map(\.texts) == [["2"], nil, ["3"], ["4"]])
        #expect(outcomes[1].error == .deadline(.seconds(2)))
    }

    @Test(arguments: ["repeat(1)", "repeat(\"x\" * 100000)", "[limit(100; repeat(\"x\" * 100000))] | add"])
    func outputIsLimited(program: String) async throws {
        let pool = pool([program, ".+1"]) {
            $0.deadline = .seconds(120)
            $0.outputLimit = 8 << 20
        }
        let outcomes = await pool.run([try call(1, "1"), try call(0), try call(1, "2")])
        #expect(outcomes[0].texts == ["2"])
        #expect(outcomes[1].error == .tooMuchOutput(limit: 8 << 20) || outcomes[1].error == .crashed)
        #expect(outcomes[2].texts == ["3"])
    }

    @Test
    func crashFailsOneCall() async throws {
        let pool = pool(["[limit(1000000; repeat(\"x\" * 100000))] | length", ".+1"]) {
            $0.deadline = .seconds(120)
            $0.memoryLimit = 64 << 20
        }
        let outcomes = await pool.run([try call(1, "1"), try call(0), try call(0), try call(1, "2")])
        #expect(outcomes.map(\.texts) == [["2"], nil, nil, ["3"]])
        #expect(outcomes[1].error == .crashed)
        #expect(outcomes[2].error == .crashed)
    }

    @Test
    func processKilledWhileIdleIsReplaced() async throws {
        let pool = pool([".+1"])
        #expect(await pool.run([try call(0, "1")])[0].texts == ["2"])
        let child = try #require(pool.processes.first)
        kill(child, SIGKILL)
        var information = siginfo_t()
        waitid(P_PID, id_t(child), &information, Int32(WEXITED | WNOWAIT))
        #expect(await pool.run([try call(0, "1")])[0].texts == ["2"])
    }

    @Test
    func largeBatchIsAnsweredInOrder() async throws {
        let calls = try (0..<5000).map { try call(0, "\($0)") }
        let outcomes = await pool([".", "1"]).run(calls)
        #expect(outcomes.map(\.texts) == (0..<5000).map { ["\($0)"] })
    }

    @Test
    func callsAreDividedAmongProcesses() async throws {
        let pool = pool([".+1", "[limit(1000000; repeat(\"x\" * 100000))] | length"]) {
            $0.helpers = 3
            $0.memoryLimit = 64 << 20
        }
        for count in [63, 1000] {
            let calls = try (0..<count).map { try call($0 == 40 ? 1 : 0, "\($0)") }
            let outcomes = await pool.run(calls)
            #expect(outcomes.map(\.texts) == (0..<count).map { $0 == 40 ? nil : ["\($0 + 1)"] })
            #expect(outcomes[40].error == .crashed)
        }
        #expect(pool.processes.count <= 3)
    }

    @Test
    func largeDocumentsAreSentInBothDirections() async throws {
        let document = "\"" + String(repeating: "x", count: 4 << 20) + "\""
        let outcomes = await pool(["."]) { $0.deadline = .seconds(120) }.run([
            try call(0, document), try call(0, document), try call(0, "1"),
        ])
        #expect(outcomes[0].texts == [document])
        #expect(outcomes[1].texts == [document])
        #expect(outcomes[2].texts == ["1"])
    }

    @Test
    func manyTasksMayCallConcurrently() async throws {
        let pool = pool([".+1"]) { $0.helpers = 2 }
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<40 {
                group.addTask {
                    let outcomes = await pool.run([try call(0, "\(task)"), try call(0, "\(task + 1)")])
                    return outcomes.map(\.texts) == [["\(task + 1)"], ["\(task + 2)"]]
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: true, count: 40))
        #expect(pool.processes.count <= 2)
    }

    @Test
    func cancelledTaskReturnsAtOnce() async throws {
        let pool = pool(["def f: f; f"]) { $0.deadline = .seconds(3600) }
        let running = try call()
        let task = Task { await pool.run([running, running]) }
        task.cancel()
        #expect(await task.value.map(\.error) == [.cancelled, .cancelled])
    }

    @Test
    func shutdownLeavesNoProcesses() async throws {
        let pool = pool([".", "def f: f; f"]) {
            $0.helpers = 2
            $0.deadline = .seconds(1)
        }
        _ = await pool.run([try call(0), try call(1), try call(0)])
        let left = pool.processes
        #expect(left.count == 1)
        pool.shutdown()
        #expect(pool.processes.isEmpty)
        for process in left { #expect(kill(process, 0) < 0 && errno == ESRCH) }
        #expect(await pool.run([try call()])[0].error == .shutDown)
    }
}
