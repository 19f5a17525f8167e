internal import ArgumentParser
internal import Foundation

/// Measures the program's cost per change compared with curl, its reaction time to a change, and its startup time.
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
        guard (1...80_000_000).contains(rows), rounds > 0 else {
            throw ValidationError("rows must be 1 to 80,000,000, in at least one round")
        }
    }

    func run() async throws {
        Program.require([Program.shippedRules])
        let cases = WireCase.all.filter { only.isEmpty || $0.name.contains(only) }
        let measuresLatency = only.isEmpty || WireLatency.name.contains(only)
        guard !cases.isEmpty || measuresLatency else { throw ValidationError("no case is called '\(only)'") }
        let figures = try await Program.withDirectory { directory in
            var figures = Figures()
            for _ in 0..<rounds {
                for wireCase in cases { try wireCase.measure(rows: rows, in: directory, &figures) }
                if measuresLatency { try WireLatency(directory: directory).measure(&figures) }
            }
            return figures
        }
        print("\(rows) rows of \(WireRows(.change).byteCount) bytes; medians of \(rounds) rounds")
        if !cases.isEmpty { JobMeasure.report(cases.map { ($0.name, $0.limits) }, figures) }
        if measuresLatency { print(WireLatency.table(of: figures).text) }
        try figures.write(to: json)
    }
}
