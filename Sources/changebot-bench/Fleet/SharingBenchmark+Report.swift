extension SharingBenchmark {
    /// How many times as fast as one process without an engine so many members must be.
    private static let requiredGain = (members: 4, ratio: 3.2)
    /// What one member must reach of the rate without an engine. The rest is noise.
    private static let requiredOfOne = 0.95

    static func report(_ cases: [SharingCase], _ figures: Figures) {
        var table = Table(
            ["documents decided"] + ["documents/s", "ratio"] + SharingMeasure.allCases.dropFirst().map(\.label))
        for sharing in cases {
            let values = SharingMeasure.allCases.map { measure in
                figures.median(measure.rawValue, of: sharing.name)
                    .map { $0.formatted(decimals: measure.decimals, width: 1) } ?? "-"
            }
            let ratio = ratio(sharing, figures).formatted(decimals: 2, width: 1) + "x"
            table.add([sharing.name, values[0], ratio] + values.dropFirst())
        }
        print(table.text)
        for sharing in cases where sharing.processes > Processors.count {
            print(
                "  \(sharing.name): they share \(Processors.count) processors, so this says nothing about "
                    + "\(sharing.processes)")
        }
        for line in verdicts(cases, figures) { print("  " + line) }
    }

    private static func ratio(_ sharing: SharingCase, _ figures: Figures) -> Double {
        func rate(_ sharing: SharingCase) -> Double {
            figures.median(SharingMeasure.rate.rawValue, of: sharing.name) ?? 0
        }
        return rate(sharing) / rate(.alone)
    }

    private static func verdicts(_ cases: [SharingCase], _ figures: Figures) -> [String] {
        let one = ratio(.members(1), figures)
        var lines = [
            "one member: at least \(requiredOfOne) x the rate without an engine: "
                + (one >= requiredOfOne ? "ok" : "NOT REACHED")
        ]
        let many = SharingCase.members(requiredGain.members)
        guard cases.contains(many) else { return lines }
        let text = "\(requiredGain.members) members: at least \(requiredGain.ratio) x the rate without an engine: "
        if Processors.count < requiredGain.members {
            lines.append(text + "can't be measured on \(Processors.count) processors")
        } else {
            lines.append(text + (ratio(many, figures) >= requiredGain.ratio ? "ok" : "NOT REACHED"))
        }
        return lines
    }
}
