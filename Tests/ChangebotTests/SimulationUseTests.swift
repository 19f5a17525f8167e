import Foundation
import TestKit
import Testing

/// `changebot-simulate`: plans, shorter failures, and simulations without progress.
@Suite(.limitedParallelism) struct SimulationUseTests {
    /// A command that finds the failure again, with less in it.
    @Test func failureIsShrunk() async throws {
        let result = try await simulate(
            "--seed", "3", "--documents", "4", "--faults", "kill,late-answer", "--break", "lost-put", "--shrink")
        #expect(result.code == 1)
        let steps = result.output.matches(of: #/: (\d+) steps, /#).compactMap { Int($0.1) }
        let (first, last) = (try #require(steps.first), try #require(steps.last))
        #expect(last < first / 2, "\(first) became \(last)")
        let replay = try #require(result.output.matches(of: #/replay +changebot-simulate (.*)/#).last?.1)
        #expect(replay.contains("--faults none --documents "))
        let again = try await Program.simulate(replay.split(separator: " ").map(String.init))
        #expect(again.code == 1)
        #expect(again.output.contains("guarantee  1. Other documents are written first"))
    }

    /// The bot's pauses never end, so nothing can continue.
    @Test func waitsAreListedWithoutProgress() async throws {
        let result = try await simulate("--seed", "8", "--gateway", "sync-gateway", "--break", "lost-timer")
        #expect(result.code == 1)
        #expect(
            try result.output.contains(
                Regex("no progress: bot [0-9]+ has nothing to do, and waits for nothing that will happen")))
        #expect(try result.output.contains(Regex("(?m)^waits +bot [0-9]+, since [0-9.]+ s: documents to process$")))
        #expect(
            try result.output.contains(Regex("(?m)^waits +bot [0-9]+: a time, [0-9.]+ s, which has passed unnoticed$")))
    }

    @Test func planSetsSeedsTroubleAndRates() async throws {
        let plan = """
            seeds: [4, 20-21]
            steps: 5000
            documents: 5
            faults:
              lost-answer: 0.2
              kill: 0.002
            """
        let result = try await simulate(plan: plan).result
        #expect(result.code == 0, "\(result.output)\(result.errors)")
        let lines = result.output.split(separator: "\n")
        #expect(lines.prefix(3).map { $0.prefix { $0 != "," } } == ["seed 4", "seed 20", "seed 21"])
        func count(_ kind: String) -> Int? {
            lines.first { $0.hasPrefix(kind + " ") }.flatMap { Int($0.split(separator: " ").last ?? "") }
        }
        #expect(try #require(count("lost-answer")) > 20)
        #expect(try #require(count("kill")) > 5)
        #expect(count("outage") == 0)
        #expect(count("user creates") == 15)
    }

    @Test(
        arguments: [
            ("faults:\n  kil: 0.1", 65, ":2:3: there is no trouble 'kil': use refused-connection, "),
            (
                "faults:\n  kill: often", 65,
                ":2:9: the rate of 'kill' must be a number from 0 to 1, or random, not text"
            ),
            ("faults:\n  kill: 7", 65, ":2:9: the rate of 'kill' is '7', but must be a number from 0 to 1"),
            ("faults: [kill, kill]", 65, ":1:16: 'kill' appears twice"),
            (
                "sedes: 4", 65,
                ":1:1: 'sedes' is unknown: use seeds, steps, gateway, documents, actions, members, faults"
            ),
            ("seeds: [1, 9-3]", 65, ":1:12: 'seeds' must be whole numbers or ranges like 1-9"),
            ("seeds: []", 65, ":1:8: 'seeds' is empty"),
            ("steps: 0", 65, ":1:8: 'steps' must be a whole number from 1"),
            ("members: 0", 65, ":1:10: 'members' must be a whole number from 1 to 8, or random"),
            ("gateway: mongo", 65, ":1:10: 'gateway' must be sync-gateway or couchdb"),
            ("- kill", 65, ":1:1: a plan must be an object with the keys seeds, "),
            ("", 65, ":1:1: the file is empty; a plan has the keys seeds, "),
            ("seeds: 3", 64, "the plan has seeds, too: leave out --seed"),
        ])
    func badPlanIsRefused(plan: String, code: Int32, message: String) async throws {
        let (result, path) = try await simulate(plan: plan, "--seed", "1")
        #expect(result.code == code)
        #expect(result.errors.contains(code == 65 ? path + message : message), "\(result.errors)")
    }

    @Test func missingPlanIsReported() async throws {
        let result = try await simulate("--plan", "/nowhere/plan.yaml")
        #expect(result.code == 66)
        #expect(result.errors.hasPrefix("/nowhere/plan.yaml: "), "\(result.errors)")
    }

    private func simulate(_ arguments: String...) async throws -> Program.Result {
        try await Program.simulate(arguments)
    }

    /// - Returns: Also the path of the plan.
    private func simulate(plan: String, _ arguments: String...) async throws -> (result: Program.Result, path: String) {
        try await withDirectory { folder in
            let path = folder + "/plan.yaml"
            try plan.write(toFile: path, atomically: true, encoding: .utf8)
            return (try await Program.simulate(["--plan", path] + arguments), path)
        }
    }
}

extension Program {
    static func simulate(_ arguments: [String]) async throws -> Result {
        let path = URL(fileURLWithPath: Program.path).deletingLastPathComponent()
            .appendingPathComponent("changebot-simulate").path
        return try await run(arguments, environment: ["SWIFT_BACKTRACE": "enable=no"], path: path)
    }
}
