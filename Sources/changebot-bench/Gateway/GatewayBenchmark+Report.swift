extension GatewayBenchmark {
    /// Prints the medians, and which limits they reach.
    func report(_ cases: [GatewayCase]) {
        let names = figures.all.map(\.name).filter { !GatewayLatency.isLoad($0) }.uniqued
        if !names.isEmpty { print(table(of: names).text) }
        for latencies in GatewayLatency.tables(of: figures) { print(latencies.text) }
        let verdicts =
            cases.flatMap { name in name.limits.compactMap { $0.verdict(name.rawValue, figures) } }
            + GatewayLatency.verdicts(figures)
        for line in verdicts { print("  " + line) }
        if !verdicts.isEmpty, taskCount < 100_000 {
            print("  The limits are meant for 100,000 documents: with fewer, the start of the program counts for more.")
        }
    }

    private func table(of names: [String]) -> Table {
        var table = Table(["case", "program"] + JobMeasure.allCases.map(\.label), labels: 2)
        for name in names {
            for (index, program) in JobProgram.allCases.enumerated() {
                let cells = JobMeasure.allCases.map { measure in
                    figures.median(measure.name(program), of: name).map { measure.text($0, of: program) } ?? "-"
                }
                table.add([index == 0 ? name : "", label(of: program, in: name)] + cells)
            }
        }
        return table
    }

    private func label(of program: JobProgram, in name: String) -> String {
        guard program == .yardstick else { return program.rawValue }
        guard figures.median(JobMeasure.requests.name(.yardstick), of: name) != nil else { return "curl" }
        return GatewayCase(rawValue: name)?.readsAndWrites == true ? "curl + client" : "plain client"
    }
}

extension [String] {
    /// Each once, in the order of their first occurrence.
    fileprivate var uniqued: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
