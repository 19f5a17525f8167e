internal import ArgumentParser
internal import Foundation

/// What a fleet that shares its work gains, and what its log costs.
struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet", abstract: "Members that share the work: how much faster they are, what the log costs.",
        discussion: """
            Starts a PostgreSQL of its own from Debian's package, unless --engine names one. Two parts:

            sharing: a rule with a jq program that takes 10 ms of this machine for each document. A process without \
            an engine, and fleets of 1, 2, 4 … members decide the same documents of an embedded gateway. Each process is pinned to one processor, by taskset. The limits are: one member is \
            no slower than a process without an engine; four members are 3.2 times as fast, on four processors.

            log: changes come at a fixed rate from a server that costs little. One member reads the feed, others \
            read each document, and no rule matches. The limits are: PostgreSQL takes at most one processor, and \
            the changes that wait do not become more and more.
            """)

    /// The default of `--partitions`.
    static let partitions = 64

    enum Part: String, CaseIterable, ExpressibleByArgument {
        case sharing, log
    }

    @Option(help: ArgumentHelp("Use this PostgreSQL.", valueName: "url"))
    var engine: String?

    @Option(help: "sharing: the most members.")
    var members = 4

    @Option(help: "sharing: documents in each case.")
    var documents = 2000

    @Option(help: "log: changes a second.")
    var rate = 10_000

    @Option(help: "log: for how long changes come.")
    var seconds = 60

    @Option(help: "log: members that decide, beside the one that reads.")
    var workers = 2

    @Option(help: "How often each case runs; the medians count.")
    var rounds = 3

    @Option(help: "Only this part: sharing or log.")
    var only: Part?

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard (1...Self.partitions).contains(members), (1...Self.partitions).contains(workers) else {
            throw ValidationError("there must be 1 to \(Self.partitions) members")
        }
        guard documents > 0, seconds > 0, rounds > 0 else { throw ValidationError("there must be at least one") }
        guard (1...1_000_000).contains(rate) else { throw ValidationError("rate must be 1 to 1,000,000") }
    }

    func run() async throws {
        Program.require([])
        var figures = Figures()
        let load = MachineLoad()
        do {
            let engine = try BenchmarkEngine(engine)
            if only != .log { try await measureSharing(engine, &figures) }
            if only != .sharing { try measureLog(engine, &figures) }
        } catch {
            FileHandle.standardError.write(Data("changebot-bench: \(error)\n".utf8))
            throw ExitCode(1)
        }
        print(load.text)
        try figures.write(to: json)
    }

    private func measureSharing(_ engine: BenchmarkEngine, _ figures: inout Figures) async throws {
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let milliseconds = SharingBenchmark.milliseconds
        let rule = try SlowRule(milliseconds: milliseconds, in: directory)
        print(
            "sharing: \(documents) documents, jq of \(Int(milliseconds)) ms each (\(rule.steps) steps), "
                + "one processor for each process; medians of \(rounds) rounds")
        let benchmark = SharingBenchmark(engine: engine, rule: rule, documents: documents)
        let cases = SharingCase.all(upTo: members)
        for round in 0..<rounds {
            for sharing in cases { try await benchmark.measure(sharing, round: round, &figures) }
        }
        SharingBenchmark.report(cases, figures)
    }

    private func measureLog(_ engine: BenchmarkEngine, _ figures: inout Figures) throws {
        let benchmark = LogBenchmark(engine: engine, rate: rate, seconds: seconds, workers: workers)
        print(
            "log: \(rate) changes a second for \(seconds) s, \(workers) members that decide; "
                + "medians of \(rounds) rounds")
        for round in 0..<rounds { try benchmark.measure(round: round, &figures) }
        LogBenchmark.report(rate: rate, figures)
    }
}
