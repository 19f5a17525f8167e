internal import ArgumentParser
internal import Foundation
internal import TestKit

/// Measures the throughput of a fleet that shares its work, and the cost of its log.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Members that share the work: how many changes they decide, what the log costs.",
        discussion: """
            A server that costs little sends changes at a fixed rate. One member reads the feed, others read each \
            document. A rule writes one document in a hundred. Starts its own PostgreSQL from Debian's package, unless \
            --engine names one.

            To measure how throughput grows with members, pass --pinned, a --rate that the members can't reach, and \
            slow --rules that change every document of type 'task'. Compare a run with one worker with runs with several.
            """)

    @Option(help: ArgumentHelp("Use this PostgreSQL.", valueName: "url"))
    var engine: String?

    @Option(help: ArgumentHelp("Rules that change every document.", valueName: "file"))
    var rules: String?

    @Option(help: "Changes per second.")
    var rate = 10_000

    @Option(help: "How long the server sends changes, in seconds.")
    var seconds = 60

    @Option(help: "The number of members that decide. One more reads.")
    var workers = 2

    @Flag(help: "Limit each of them to one processor, with taskset.")
    var pinned = false

    @Option(help: "How often it is measured; the medians count.")
    var rounds = 3

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard (1...FleetProcesses.partitions).contains(workers), seconds > 0, rounds > 0, rate > 0 else {
            throw ValidationError("numbers must be positive, and workers at most \(FleetProcesses.partitions)")
        }
    }

    func run() async throws {
        Program.require([])
        let own = try engine == nil ? TestPostgres() : nil
        let benchmark = FleetBenchmark(url: engine ?? own?.url() ?? "", engineID: own?.processID, options: self)
        print("\(rate) changes a second for \(seconds) s, \(workers) members that decide; medians of \(rounds) rounds")
        var figures = Figures()
        for round in 0..<rounds {
            figures = try await Program.withDirectory { [figures] directory in
                var figures = figures
                try benchmark.measure(round: round, in: directory, &figures)
                return figures
            }
        }
        FleetBenchmark.report(figures)
        try figures.write(to: json)
    }
}
