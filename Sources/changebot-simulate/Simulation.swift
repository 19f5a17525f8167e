internal import Foundation
internal import GatewayClient
internal import Glibc

/// One simulation from its seed to its result, in a folder of its own.
///
/// It replaces the clock and the scheduler of this process, so a process can run only one.
struct Simulation {
    let settings: SimulationSettings

    /// - Parameter limit: The step at which it ends.
    func run(until limit: Int) throws -> SimulationResult {
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let before = FileManager.default.currentDirectoryPath
        // All paths are relative, so that they are the same in each run.
        chdir(folder)
        defer { chdir(before) }
        let world = World(settings)
        while world.scheduler.step < limit, world.violation == nil { world.runRound(until: limit) }
        return SimulationResult(
            seed: settings.seed, gateway: settings.dialect.rawValue, steps: world.scheduler.step,
            time: world.story.time, events: world.story.count, digest: world.story.digest,
            faults: Dictionary(uniqueKeysWithValues: world.faults.counts.map { ($0.key.rawValue, $0.value) }),
            users: world.userActions, guarantee: world.violation?.guarantee.rawValue, detail: world.violation?.detail,
            recent: world.story.recent)
    }

    private func makeFolder() throws -> String {
        var template = Array((FileManager.default.temporaryDirectory.path + "/changebot-simulate-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        let folder = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        for (path, content) in Scenario.files.merging(
            [World.rulesFile: Array(Scenario.rules.utf8)], uniquingKeysWith: { $1 })
        {
            try Data(content).write(to: URL(fileURLWithPath: "\(folder)/\(path)"))
        }
        return folder
    }
}

/// Runs simulations in child processes, some at a time, and reads their results.
struct ChildSimulations {
    /// The options of a child, without its seed.
    let options: [String]
    let parallel: Int

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Parameter receive: Called with each result, in the order of the seeds. False: no more are run.
    func run(_ seeds: Range<UInt64>, _ receive: (SimulationResult) -> Bool) throws {
        var running: [(seed: UInt64, child: pid_t, file: String)] = []
        var next = seeds.lowerBound
        while next < seeds.upperBound || !running.isEmpty {
            while next < seeds.upperBound, running.count < parallel {
                running.append(try start(next))
                next += 1
            }
            let first = running.removeFirst()
            guard receive(try result(of: first)) else {
                for other in running {
                    kill(other.child, SIGKILL)
                    var status: Int32 = 0
                    waitpid(other.child, &status, 0)
                    unlink(other.file)
                }
                return
            }
        }
    }

    private func start(_ seed: UInt64) throws -> (seed: UInt64, child: pid_t, file: String) {
        let file = FileManager.default.temporaryDirectory.path + "/changebot-simulate-\(getpid())-\(seed)"
        let arguments = [CommandLine.arguments[0], "--seed", String(seed), "--result", file] + options
        var pointers = arguments.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child = pid_t()
        guard posix_spawn(&child, "/proc/self/exe", nil, nil, &pointers, environ) == 0 else {
            throw Failure(description: "can't start a simulation: \(String(cString: strerror(errno)))")
        }
        return (seed, child, file)
    }

    private func result(of child: (seed: UInt64, child: pid_t, file: String)) throws -> SimulationResult {
        var status: Int32 = 0
        while waitpid(child.child, &status, 0) < 0, errno == EINTR {}
        defer { unlink(child.file) }
        guard let data = FileManager.default.contents(atPath: child.file) else {
            throw Failure(description: "the simulation of seed \(child.seed) has crashed")
        }
        return try JSONDecoder().decode(SimulationResult.self, from: data)
    }
}
