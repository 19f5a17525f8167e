internal import ArgumentParser
internal import Foundation
internal import GatewayClient

/// What the program costs per change, compared with curl, how soon it answers a change, and how soon it starts.
///
/// The server is a thread of this process that sends prepared bytes, so that nothing else is measured.
struct WireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wire", abstract: "The program against a server that costs nothing, compared with curl.",
        discussion: """
            All cases take some minutes with the defaults. The limits are: processor time of curl + 0.3 s per 100,000 \
            changes; one wait per five rows when each row comes alone.
            """)

    @Option(help: "Rows of the feed.")
    var rows = 100_000

    @Option(help: "How often each case runs; the medians count.")
    var rounds = 5

    @Option(help: "Only the cases whose names contain this.")
    var only = ""

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard (1...80_000_000).contains(rows) else { throw ValidationError("rows must be 1 to 80,000,000") }
        guard rounds > 0 else { throw ValidationError("there must be at least one round") }
    }

    func run() async throws {
        Program.require([WireCase.shippedRules])
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cases = WireCase.all.filter { only.isEmpty || $0.name.contains(only) }
        let latency = LatencyBenchmark(directory: directory)
        let measuresLatency = only.isEmpty || LatencyBenchmark.name.contains(only)
        let start = StartBenchmark(directory: directory)
        let measuresStart = only.isEmpty || StartBenchmark.name.contains(only)
        guard !cases.isEmpty || measuresLatency || measuresStart else {
            throw ValidationError("no case is called '\(only)'")
        }
        var figures = Figures()
        for _ in 0..<rounds {
            for wireCase in cases { try wireCase.measure(rows: rows, in: directory, &figures) }
            if measuresLatency { try latency.measure(&figures) }
            if measuresStart { try start.measure(&figures) }
        }
        print("\(rows) rows of \(WireRows(.syncGateway).byteCount) bytes; medians of \(rounds) rounds")
        if !cases.isEmpty { print(Self.table(of: cases, figures).text) }
        for wireCase in cases { for line in wireCase.verdicts(figures) { print("  " + line) } }
        if measuresLatency { print(LatencyBenchmark.table(of: figures).text) }
        if measuresStart { print(StartBenchmark.table(of: figures).text) }
        try figures.write(to: json)
    }

    private static func table(of cases: [WireCase], _ figures: Figures) -> Table {
        var table = Table(["case", "program"] + WireMeasure.allCases.map(\.label), labels: 2)
        for wireCase in cases {
            for (index, program) in WireProgram.allCases.enumerated() {
                table.add(
                    [index == 0 ? wireCase.name : "", program.rawValue]
                        + WireMeasure.allCases.map { measure in
                            figures.median(measure.name(program), of: wireCase.name)
                                .map { $0.formatted(decimals: measure.decimals, width: 1) } ?? "-"
                        })
            }
        }
        return table
    }
}
