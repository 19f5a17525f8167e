/// What is measured of a ``LogBenchmark``.
enum LogMeasure: String {
    case rate = "changes per second"
    case latency = "p50"
    case longLatency = "p99"
    case reader = "member that reads: processor time"
    case workers = "members that decide: processor time"
    case gateway = "gateway: processor time"
    case engine = "PostgreSQL: processor time"
    case written = "WAL per change"
    case mostWaiting = "most changes waiting"
    case waiting = "changes waiting at the end"
    case rest = "until all are answered"

    var unit: String {
        switch self {
        case .rate, .mostWaiting, .waiting: "changes"
        case .latency, .longLatency: "ms"
        case .reader, .workers, .gateway, .engine, .rest: "s"
        case .written: "bytes"
        }
    }

    /// The name of a second figure: the processor time as a part of the time.
    var cores: String { "\(rawValue) per second" }
}

extension LogBenchmark {
    /// In processors.
    private static let allowedEngine = 1.0
    /// How many seconds of changes may wait at the end.
    private static let allowedWaiting = 2.0

    static func report(rate: Int, _ figures: Figures) {
        func value(_ measure: LogMeasure) -> Double { figures.median(measure.rawValue, of: name) ?? 0 }
        func text(_ measure: LogMeasure) -> String { value(measure).formatted(decimals: 0, width: 1) }
        print("  from the feed to answered: p50 \(text(.latency)) ms, p99 \(text(.longLatency)) ms")
        print(
            "  changes that wait: at most \(text(.mostWaiting)), \(text(.waiting)) at the end, none "
                + value(.rest).formatted(decimals: 1, width: 1) + " s later")
        print("  WAL: \(text(.written)) bytes for a change; \(text(.rate)) changes a second came")
        var table = Table(["processor time", "s", "processors"])
        for (label, measure) in [
            ("the member that reads", LogMeasure.reader), ("the members that decide", .workers),
            ("PostgreSQL", .engine), ("this program: feed and documents", .gateway),
        ] {
            guard let cores = figures.median(measure.cores, of: name) else { continue }
            table.add([
                label, value(measure).formatted(decimals: 1, width: 1), cores.formatted(decimals: 2, width: 1),
            ])
        }
        print(table.text)
        if let cores = figures.median(LogMeasure.engine.cores, of: name) {
            let isSmall = cores <= allowedEngine
            print("  PostgreSQL: at most \(Int(allowedEngine)) processor: \(isSmall ? "ok" : "NOT REACHED")")
        }
        let isBounded = value(.waiting) <= allowedWaiting * Double(rate)
        print(
            "  at the end, at most the changes of \(Int(allowedWaiting)) s wait: \(isBounded ? "ok" : "NOT REACHED")")
    }
}
