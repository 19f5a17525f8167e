public import ArgumentParser
internal import CSimulatedSystem
internal import Foundation
public import GatewayClient
internal import Glibc

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
            Exit codes: 0 if all guarantees hold, 1 if not, 64 for wrong options.
            """)

    @Option(help: "The seed. Even seeds simulate Sync Gateway, and odd ones CouchDB.")
    var seed: UInt64 = 1

    @Option(help: "How many seeds, from the first one. Each is a simulation of its own, in its own process.")
    var seeds = 1

    @Option(help: "The number of steps after which a simulation ends.")
    var steps = 100_000

    @Option(help: "End at this step, and print what happened before it.")
    var until: Int?

    @Option(help: "The kinds of trouble: all, none, or names with commas. --list-faults prints the names.")
    var faults = "all"

    @Option(help: "Simulate this server only: sync-gateway or couchdb.")
    var gateway: GatewayDialect?

    @Option(
        name: .customLong("break"),
        help: "Put in an error on purpose: \(Breakage.allCases.map(\.rawValue).joined(separator: ", ")).")
    var breakage: Breakage?

    @Option(help: "With --seeds: how many simulations run at the same time.")
    var parallel = 2

    @Option(help: ArgumentHelp("Write the result to this file.", visibility: .private))
    var result: String?

    @Flag(help: "Print each event.")
    var story = false

    @Flag(help: "Print the kinds of trouble.")
    var listFaults = false

    static func main() {
        csimulated_system_fix_addresses(CommandLine.unsafeArgv)
        main(nil)
    }

    func validate() throws {
        guard seeds > 0, steps > 0, parallel > 0 else {
            throw ValidationError("--seeds, --steps and --parallel must be positive")
        }
        guard seeds == 1 || (until == nil && !story) else {
            throw ValidationError("--until and --story are for one seed: leave out --seeds")
        }
        guard seed <= UInt64.max - UInt64(seeds) else { throw ValidationError("--seed is too large") }
        _ = try faultKinds()
    }

    func run() throws {
        if listFaults { return print(FaultKind.allCases.map(\.rawValue).joined(separator: "\n")) }
        guard seeds > 1 else { return try runOne() }
        var table = FaultTable()
        var hasFailed = false
        let children = ChildSimulations(options: childOptions, parallel: parallel)
        try children.run(seed..<seed + UInt64(seeds)) { result in
            print(result.text(showsRecent: false))
            table.add(result)
            hasFailed = result.guarantee != nil
            return !hasFailed
        }
        print(table.text)
        if hasFailed { throw ExitCode(1) }
    }

    private func runOne() throws {
        let settings = SimulationSettings(
            seed: seed, dialect: gateway ?? (seed.isMultiple(of: 2) ? .syncGateway : .couchDB),
            faults: try faultKinds(), breakage: breakage, showsStory: story)
        let found = try Simulation(settings: settings).run(until: until ?? steps)
        if let result { return try JSONEncoder().encode(found).write(to: URL(fileURLWithPath: result)) }
        print(found.text(showsRecent: until != nil && !story, hidesRecent: story))
        if !story {
            var table = FaultTable()
            table.add(found)
            print(table.text)
        }
        if found.guarantee != nil { throw ExitCode(1) }
    }

    private var childOptions: [String] {
        ["--steps", String(steps), "--faults", faults] + (gateway.map { ["--gateway", $0.rawValue] } ?? [])
            + (breakage.map { ["--break", $0.rawValue] } ?? [])
    }

    private func faultKinds() throws -> [FaultKind] {
        switch faults {
        case "all": return FaultKind.allCases
        case "none": return []
        default:
            return try faults.split(separator: ",").map { name in
                guard let kind = FaultKind(rawValue: String(name)) else {
                    throw ValidationError(
                        "there is no trouble '\(name)': use \(FaultKind.allCases.map(\.rawValue).joined(separator: ", "))"
                    )
                }
                return kind
            }
        }
    }
}

extension GatewayDialect: ExpressibleByArgument {}
extension Breakage: ExpressibleByArgument {}
