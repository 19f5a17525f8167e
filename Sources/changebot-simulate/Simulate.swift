internal import ArgumentParser
internal import CSimulatedSystem
internal import Foundation
internal import Glibc
internal import JQ
internal import Rules

/// Runs the bot, its gateway, users, disk and network in one process, on one thread, under one seed.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changebot-simulate",
        abstract: "Run the whole bot in a simulation, and check its guarantees.",
        discussion: """
            The code is that of changebot run, from the feed to the checkpoint. The clock, the scheduler, the random \
            numbers, the network, the gateway and the end of the disk's files are simulated, and the seed decides about \
            all of them. A run with one seed can be repeated exactly: changebot-simulate --seed N. \
            Exit codes: 0 if all guarantees hold, 1 if not, 64 for wrong options, 65 for a plan that is not valid, 66 if \
            its file is missing.
            """)

    @OptionGroup var scenario: ScenarioOptions

    @Option(help: "End at this step, and print what happened before it.")
    var until: Int?

    @Option(help: "With several seeds: how many simulations run at the same time.")
    var parallel = 2

    @Option(help: ArgumentHelp("Write the result to this file.", visibility: .private))
    var result: String?

    @Flag(help: "Print each event.")
    var story = false

    @Flag(help: "After a failure, look for a shorter run with the same failure, and print its command.")
    var shrink = false

    @Flag(help: "Print the kinds of trouble.")
    var listFaults = false

    static func main() {
        JQHelper.serveIfAsked()
        csimulated_system_fix_addresses(CommandLine.unsafeArgv)
        main(nil)
    }

    func validate() throws {
        guard parallel > 0 else { throw ValidationError("--parallel must be positive") }
        if let until, until <= 0 { throw ValidationError("--until must be positive") }
        guard !shrink || (until == nil && !story) else {
            throw ValidationError("--shrink runs many simulations: leave out --until and --story")
        }
    }

    func run() throws {
        if listFaults {
            return print(FaultKind.allCases.map { "\($0.rawValue), per \($0.unit)" }.joined(separator: "\n"))
        }
        let simulations = try readSimulations()
        if simulations.count == 1, let only = simulations.first, !shrink { return try runOne(only) }
        guard until == nil, !story else {
            throw ValidationError("--until and --story are for one seed: leave out --seeds")
        }
        try runAll(simulations)
    }

    private func readSimulations() throws -> [SimulationSettings] {
        do { return try scenario.simulations() } catch let error as RuleFilesError {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            throw ExitCode(error.kind == .missing ? 66 : error.kind == .usage ? 64 : 65)
        }
    }

    /// Until the first failure.
    private func runAll(_ simulations: [SimulationSettings]) throws {
        var table = FaultTable()
        var failure: (settings: SimulationSettings, result: SimulationResult)?
        let children = ChildSimulations(parallel: parallel)
        try children.run(simulations) { settings, result in
            print(result.text(showsRecent: false))
            table.add(result)
            if result.guarantee != nil { failure = (settings, result) }
            return failure == nil
        }
        print(table.text)
        guard let failure else { return }
        if shrink {
            var shrinker = Shrinker(failure.settings, failure.result, children)
            print("", try shrinker.shrink().text(showsRecent: true), separator: "\n")
        }
        throw ExitCode(1)
    }

    /// In this process.
    private func runOne(_ settings: SimulationSettings) throws {
        var settings = settings
        settings.showsStory = story
        settings.steps = until ?? settings.steps
        let found = try Simulation(settings: settings).run()
        if let result { return try JSONEncoder().encode(found).write(to: URL(fileURLWithPath: result)) }
        print(found.text(showsRecent: until != nil && !story, hidesRecent: story))
        if !story {
            var table = FaultTable()
            table.add(found)
            print(table.text)
        }
        if found.guarantee != nil { throw ExitCode(1) }
    }
}
