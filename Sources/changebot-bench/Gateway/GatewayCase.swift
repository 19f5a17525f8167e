/// A job of the program, or several that belong together.
enum GatewayCase: String, CaseIterable {
    case feedNone = "feed-none"
    case feedHundredth = "feed-hundredth"
    case feedAll = "feed-all"
    case rules10 = "rules-10"
    case rules100 = "rules-100"
    case rules1000 = "rules-1000"
    case fixNone = "fix-none"
    case fixAll = "fix-all"
    case export
    case exportGzip = "export-gz"
    case importFile = "import"
    case latency
    case large

    /// Whether each round leaves the keyspace larger.
    var addsDocuments: Bool { [.importFile, .latency, .large].contains(self) }

    /// Whether the job writes what it reads, so that its yardstick is a reader and a writer.
    var readsAndWrites: Bool { [.feedAll, .fixAll].contains(self) }

    /// What the medians should be.
    var limits: [JobLimit] {
        switch self {
        case .feedNone: [.processorDifference(0.3), .wallRatio(1.05)]
        case .fixNone: [.wallRatio(1.3)]
        case .feedAll, .fixAll: [.rateRatio(0.8), .documentsPerRequest(100)]
        case .export, .exportGzip: [.wallRatio(1.1), .processorDifference(0.5)]
        default: []
        }
    }
}

/// A target for one case.
enum JobLimit {
    /// Processor time minus that of the yardstick, in seconds per 100,000 documents: at most this.
    case processorDifference(Double)
    /// Wall time compared with the yardstick's: at most this.
    case wallRatio(Double)
    /// Documents per second compared with the yardstick's: at least this.
    case rateRatio(Double)
    /// At least this.
    case documentsPerRequest(Double)

    /// A line that says whether it is reached; nil if it was not measured.
    func verdict(_ name: String, _ figures: Figures) -> String? {
        let (program, measure) = subject
        guard let value = figures.median(measure.name(program), of: name) else { return nil }
        let (isReached, text): (Bool, String) =
            switch self {
            case .processorDifference(let limit):
                (value <= limit, "processor time at most the yardstick's + \(limit) s per 100,000 documents")
            case .wallRatio(let limit): (value <= limit, "wall time at most \(limit) x the yardstick's")
            case .rateRatio(let limit): (value >= limit, "at least \(limit) x the yardstick's documents per second")
            case .documentsPerRequest(let limit): (value >= limit, "at least \(Int(limit)) documents per request")
            }
        return "\(name): \(text): \(isReached ? "ok" : "NOT REACHED") (\(value.formatted(decimals: 2, width: 1)))"
    }

    private var subject: (JobProgram, JobMeasure) {
        switch self {
        case .processorDifference: (.compared, .processor)
        case .wallRatio: (.compared, .wall)
        case .rateRatio: (.compared, .rate)
        case .documentsPerRequest: (.changebot, .perRequest)
        }
    }
}
