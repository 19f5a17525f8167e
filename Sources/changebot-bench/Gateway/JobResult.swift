/// Whose figure it is.
enum JobProgram: String, CaseIterable {
    case changebot, yardstick
    /// The program's compared with the yardstick's, round by round: a ratio, or the difference of processor times.
    case compared
}

/// What one job took.
struct JobResult {
    var usage: Usage
    /// Those that were read, or written if it reads none.
    let documents: Int
    /// In MiB; nil if unknown.
    var peakMemory: Double?
    var written = 0
    /// Those that wrote documents; nil for what only reads.
    var requests: Int?
}

/// What is measured of a job.
enum JobMeasure: String, CaseIterable {
    case wall = "wall time"
    case allProcessor = "processor time"
    case processor = "processor time per 100,000 documents"
    case memory = "peak memory"
    case waits = "waits per 1,000 documents"
    case preemptions = "preemptions per 1,000 documents"
    case rate = "documents per second"
    case requests = "write requests"
    case perRequest = "documents per request"

    var label: String {
        switch self {
        case .wall: "wall s"
        case .allProcessor: "processor s"
        case .processor: "per 100,000"
        case .memory: "peak MiB"
        case .waits: "waits/1,000"
        case .preemptions: "preempted/1,000"
        case .rate: "documents/s"
        case .requests: "requests"
        case .perRequest: "per request"
        }
    }

    var unit: String {
        switch self {
        case .wall, .allProcessor, .processor: "s"
        case .memory: "MiB"
        case .waits, .preemptions: "context switches"
        case .rate, .perRequest: "documents"
        case .requests: "requests"
        }
    }

    /// The name in ``Figures``.
    func name(_ program: JobProgram) -> String { "\(program.rawValue): \(rawValue)" }

    func value(_ result: JobResult) -> Double? {
        let documents = Double(result.documents)
        switch self {
        case .wall: return result.usage.wall
        case .allProcessor: return result.usage.processor
        case .processor:
            return result.documents < 1000 ? nil : result.usage.processor / documents * 100_000
        case .memory: return result.peakMemory
        case .waits: return Double(result.usage.waits) / documents * 1000
        case .preemptions: return Double(result.usage.preemptions) / documents * 1000
        case .rate: return documents / result.usage.wall
        case .requests: return result.requests.map { Double($0) }
        case .perRequest:
            guard let requests = result.requests, requests > 0 else { return nil }
            return Double(result.written) / Double(requests)
        }
    }

    /// How the program stands beside its yardstick; nil where that says nothing.
    func comparison(_ program: JobResult, _ yardstick: JobResult) -> Double? {
        guard let own = value(program), let other = value(yardstick) else { return nil }
        switch self {
        case .wall, .rate: return own / other
        case .allProcessor, .processor: return own - other
        case .memory, .waits, .preemptions, .requests, .perRequest: return nil
        }
    }

    /// Whether ``comparison(_:_:)`` is a ratio.
    var isRatio: Bool { self == .wall || self == .rate }

    /// As in the table: `1.04x`, `+0.21`.
    func text(_ value: Double, of program: JobProgram) -> String {
        if program == .compared {
            let text = value.formatted(decimals: 2, width: 1)
            return isRatio ? text + "x" : (value < 0 ? "" : "+") + text
        }
        switch self {
        case .wall, .allProcessor, .processor: return value.formatted(decimals: 3, width: 1)
        case .memory, .waits, .preemptions, .perRequest: return value.formatted(decimals: 1, width: 1)
        case .rate, .requests: return value.formatted(decimals: 0, width: 1)
        }
    }
}

extension Figures {
    /// Adds what one round measured of a job.
    mutating func add(_ program: JobResult, beside yardstick: JobResult, of name: String) {
        for measure in JobMeasure.allCases {
            for (whose, value) in [
                (JobProgram.changebot, measure.value(program)), (.yardstick, measure.value(yardstick)),
                (.compared, measure.comparison(program, yardstick)),
            ] {
                guard let value else { continue }
                let unit = whose == .compared && measure.isRatio ? "ratio" : measure.unit
                add(value, measure.name(whose), unit: unit, of: name)
            }
        }
    }
}
