internal import Foundation
internal import LosslessJSON
internal import TestKit

/// A directory with rules, faults and state, and the program to run. It is removed at the end of the soak.
struct SoakEnvironment: Sendable {
    struct Server {
        let url: String
        /// Nil if the server existed before.
        let process: ChildProcess?
    }

    private let directory: String
    private let program: String
    private let faults: String?

    /// - Parameters:
    ///   - faults: The path of a faults file for the gateway; nil for ``DefaultFaults``.
    ///   - rules: A rule file.
    init(faults: String?, rules: String) throws {
        program =
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("changebot").path
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw SoakError("no changebot next to this program; run: swift build -c release")
        }
        self.faults = faults
        directory = NSTemporaryDirectory() + "changebot-soak-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(rules.utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }

    func startGateway(seed: UInt64) async throws -> Server {
        let file = faults ?? directory + "/faults.json"
        if faults == nil { try Data(DefaultFaults.json(seed: seed).utf8).write(to: URL(fileURLWithPath: file)) }
        let process = try ChildProcess(
            [program, "gateway", "--listen", "127.0.0.1:0", "--data", directory + "/todo.sqlite", "--faults", file],
            errors: directory + "/gateway.log")
        guard let url = await process.readLine()?.split(separator: " ").last else {
            throw SoakError("the gateway did not start: \(log("gateway.log"))")
        }
        return Server(url: String(url), process: process)
    }

    private func arguments(_ gateway: String, _ more: [String]) -> [String] {
        [
            program, "run", "--gateway", gateway, "--rules", directory + "/rules.yaml", "--state",
            directory + "/state", "--name", "soak", "--log-level", "error",
        ] + more
    }

    /// Starts the bot and kills it `times` times, each after 50 ms to 1 s.
    func killRepeatedly(bot gateway: String, times: Int, seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        for _ in 0..<times {
            let bot = try ChildProcess(arguments(gateway, []), errors: directory + "/bot.log")
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...1000, using: &random)))
            bot.kill()
        }
    }

    /// Runs the bot until nothing is left to do. Returns the ids of its dead letters.
    func finish(bot gateway: String) async throws -> [String] {
        for _ in 0..<20 {
            let summary = directory + "/summary.json"
            let bot = try ChildProcess(
                arguments(gateway, ["--once", "--summary", summary]), errors: directory + "/bot.log")
            let code = await bot.wait()
            guard code == 0 || code == 1 else { throw SoakError("the bot ended with \(code): \(log("bot.log"))") }
            guard let text = FileManager.default.contents(atPath: summary), let summary = SmallJSON(Array(text)) else {
                throw SoakError("the bot left no summary")
            }
            if summary["written"]?.integer == 0 { return try await deadLetters() }
        }
        throw SoakError("the bot still finds something to do after 20 runs")
    }

    private func deadLetters() async throws -> [String] {
        let list = try ChildProcess([
            program, "dead-letters", "export", "--state", directory + "/state", "--name", "soak",
        ])
        var ids: [String] = []
        while let line = await list.readLine() {
            if let id = SmallJSON(Array(line.utf8))?["id"]?.string { ids.append(id) }
        }
        return ids
    }

    private func log(_ name: String) -> String {
        (try? String(contentsOfFile: directory + "/" + name, encoding: .utf8)) ?? ""
    }
}
