internal import Foundation
internal import GatewayClient
internal import Glibc

/// One simulation from its seed to its result, in a folder of its own.
///
/// It replaces the clock and the scheduler of this process, so a process can run only one.
struct Simulation {
    let settings: SimulationSettings

    func run() throws -> SimulationResult {
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let before = FileManager.default.currentDirectoryPath
        // All paths are relative, so that they are the same in each run.
        chdir(folder)
        defer { chdir(before) }
        // Before there is only one thread: a helper process checks the programs, and the result is remembered.
        _ = try World.loadRules(settings.rules)
        let world = World(settings)
        while world.scheduler.step < settings.steps, world.violation == nil { world.runRound(until: settings.steps) }
        return SimulationResult(
            seed: settings.seed, gateway: settings.dialect.rawValue, steps: world.scheduler.step,
            time: world.story.time, events: world.story.count, digest: world.story.digest,
            faults: Dictionary(uniqueKeysWithValues: world.faults.counts.map { ($0.key.rawValue, $0.value) }),
            users: world.userActions, guarantee: world.violation?.guarantee.rawValue, detail: world.violation?.detail,
            waits: world.waits, recent: world.story.recent, replay: settings.replay(until: world.scheduler.step))
    }

    private func makeFolder() throws -> String {
        var template = Array((FileManager.default.temporaryDirectory.path + "/changebot-simulate-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        try FileManager.default.createDirectory(
            atPath: "\(folder)/\(Scenario.linesFolder)", withIntermediateDirectories: false)
        var files = Scenario.files
        files[World.rulesFile] = Array(Scenario.rules(settings.rules).utf8)
        files[World.passRulesFile] = Array(Scenario.passRules.utf8)
        for (path, content) in files { try Data(content).write(to: URL(fileURLWithPath: "\(folder)/\(path)")) }
        return folder
    }
}
