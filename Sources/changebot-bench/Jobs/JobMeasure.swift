/// The cost of one job.
struct JobResult {
    var usage: Usage
    /// The number of documents read, or written if it reads none.
    let documents: Int
    /// In MiB; nil if unknown.
    var peakMemory: Double?
    /// Documents written per request; nil for jobs that only read.
    var perRequest: Double?
}

/// The measures of a job.
enum JobMeasure: String, CaseIterable {
    case wall = "wall time"
    case processor = "processor time per 100,000 documents"
    case memory = "peak memory"
    case waits = "waits per 1,000 documents"
    case rate = "documents per second"
    case perRequest = "documents per request"

    /// The heading in a table, and the unit.
    private var labels: (heading: String, unit: String) {
        switch self {
        case .wall: ("wall s", "s")
        case .processor: ("processor s/100,000", "s")
        case .memory: ("peak MiB", "MiB")
        case .waits: ("waits/1,000", "context switches")
        case .rate: ("documents/s", "documents")
        case .perRequest: ("per request", "documents")
        }
    }

    private func value(_ result: JobResult) -> Double? {
        let documents = Double(result.documents)
        switch self {
        case .wall: return result.usage.wall
        case .processor: return result.usage.processor / documents * 100_000
        case .memory: return result.peakMemory
        case .waits: return Double(result.usage.waits) / documents * 1000
        case .rate: return documents / result.usage.wall
        case .perRequest: return result.perRequest
        }
    }

    /// The name of the measure for `changebot`, `yardstick`, or `compared`, which is computed per round: a ratio for
    /// times and rates, a difference for processor times.
    func name(_ program: String) -> String { "\(program): \(rawValue)" }

    static func add(_ result: JobResult, beside yardstick: JobResult, of name: String, to figures: inout Figures) {
        for measure in allCases {
            let (own, other) = (measure.value(result), measure.value(yardstick))
            var compared: Double?
            if let own, let other {
                switch measure {
                case .wall, .rate: compared = own / other
                case .processor: compared = own - other
                case .memory, .waits, .perRequest: break
                }
            }
            for (program, value) in [("changebot", own), ("yardstick", other), ("compared", compared)] {
                if let value { figures.add(value, measure.name(program), unit: measure.labels.unit, of: name) }
            }
        }
    }

    /// Prints the medians of jobs, and whether they reach their limits.
    static func report(_ cases: [(name: String, limits: [JobLimit])], _ figures: Figures) {
        var table = Table(["case", "program"] + allCases.map(\.labels.heading), labels: 2)
        for (name, _) in cases {
            for program in ["changebot", "yardstick", "compared"] {
                let cells = allCases.map {
                    figures.median($0.name(program), of: name)?.formatted(decimals: 2) ?? "-"
                }
                table.add([program == "changebot" ? name : "", program] + cells)
            }
        }
        print(table.text)
        for (name, limits) in cases { for limit in limits { limit.report(name, figures) } }
    }
}

/// A target for the median of one measure.
struct JobLimit {
    let program: String
    let measure: JobMeasure
    let bound: ClosedRange<Double>

    static func compared(_ measure: JobMeasure, _ bound: ClosedRange<Double>) -> JobLimit {
        JobLimit(program: "compared", measure: measure, bound: bound)
    }

    static func own(_ measure: JobMeasure, _ bound: ClosedRange<Double>) -> JobLimit {
        JobLimit(program: "changebot", measure: measure, bound: bound)
    }

    fileprivate func report(_ name: String, _ figures: Figures) {
        guard let value = figures.median(measure.name(program), of: name) else { return }
        let limit = bound.upperBound < .infinity ? "at most \(bound.upperBound)" : "at least \(bound.lowerBound)"
        let verdict = bound.contains(value) ? "ok" : "NOT REACHED"
        print("  \(name): \(measure.name(program)) \(limit): \(verdict) (\(value.formatted(decimals: 2)))")
    }
}
