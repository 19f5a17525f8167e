internal import Foundation
internal import GatewayClient

/// What the log of a fleet costs if changes come at a fixed rate, and how long they take through it.
///
/// One member reads the feed, the others read each document and find that no rule wants anything. The gateway is a
/// server of this process, see ``WireDatabase``.
struct LogBenchmark {
    static let name = "log"
    private static let changesBefore = 1000
    /// How often it looks which changes are answered. A change seems to be answered later by this at most.
    private static let pause: useconds_t = 20_000
    /// For a backlog that has become long.
    private static let patience: Duration = .seconds(600)

    let engine: BenchmarkEngine
    let rate: Int
    let seconds: Int
    let workers: Int

    func measure(round: Int, _ figures: inout Figures) throws {
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let server = try WireServer(WireFeed(.syncGateway), rowCount: 0)
        defer { server.stop() }
        let fleet = FleetProcesses(engine, name: "bench_\(getpid())_log\(round)")
        defer {
            server.database.end()
            fleet.end()
        }
        let rules = try RuleFiles.write(1, in: directory) { "(?i)^word \($0)$" }
        let options = ["--gateway", server.newURL(), "--rules", rules]
        try fleet.start("reader", on: nil, options: options, in: directory)
        for _ in 0..<workers { try fleet.start("worker", on: nil, options: options, in: directory) }
        try fleet.waitUntilShared(among: workers)
        let first = AnsweredChanges(partitions: FleetCommand.partitions)
        first.post(server.database.post(Self.changesBefore))
        _ = try drain(first, fleet)

        let changes = AnsweredChanges(partitions: FleetCommand.partitions, before: Self.changesBefore)
        let source = ChangeSource(server.database, changes, count: rate * seconds, rate: rate)
        let before = try LogUsage(engine, fleet)
        source.start()
        while !source.isOver { try look(changes, fleet) }
        let (after, waiting) = (try LogUsage(engine, fleet), changes.waiting)
        let rest = try drain(changes, fleet)
        guard try fleet.appended() == Self.changesBefore + source.count else {
            throw BenchmarkError("the log had other changes than those of the feed")
        }

        func add(_ value: Double?, _ measure: LogMeasure) {
            if let value { figures.add(value, measure.rawValue, unit: measure.unit, of: Self.name) }
        }
        let time = after.time(since: before)
        add(Double(source.count) / time, .rate)
        add(changes.latency(percentile: 50), .latency)
        add(changes.latency(percentile: 99), .longLatency)
        add(after.reader - before.reader, .reader)
        add(after.workers - before.workers, .workers)
        add(after.gateway - before.gateway, .gateway)
        add(after.engine.flatMap { after in before.engine.map { after - $0 } }, .engine)
        add(Double(after.written - before.written) / Double(source.count), .written)
        add(Double(changes.mostWaiting), .mostWaiting)
        add(Double(waiting), .waiting)
        add(rest, .rest)
        for measure in [LogMeasure.reader, .workers, .gateway, .engine] {
            guard let seconds = figures.last(measure.rawValue, of: Self.name) else { continue }
            figures.add(seconds / time, measure.cores, unit: "processors", of: Self.name)
        }
    }

    /// Waits until all is answered.
    ///
    /// - Returns: How long that took, in seconds.
    private func drain(_ changes: AnsweredChanges, _ fleet: FleetProcesses) throws -> Double {
        let began = ContinuousClock.now
        try fleet.wait("the changes are not answered", within: Self.patience) {
            try look(changes, fleet)
            return changes.waiting == 0
        }
        return (ContinuousClock.now - began).inSeconds
    }

    private func look(_ changes: AnsweredChanges, _ fleet: FleetProcesses) throws {
        changes.take(try fleet.positions())
        usleep(Self.pause)
    }
}

/// What the parts have used until now.
struct LogUsage {
    /// In seconds of a processor.
    let reader: Double
    let workers: Double
    /// Of this process, which also looks what is answered.
    let gateway: Double
    /// Nil if it is unknown.
    let engine: Double?
    /// Bytes of PostgreSQL's log.
    let written: Int
    private let moment = ContinuousClock.now

    init(_ engine: BenchmarkEngine, _ fleet: FleetProcesses) throws {
        let ids = fleet.members.map(\.processIdentifier)
        reader = ProcessorTime.seconds(of: Array(ids.prefix(1)))
        workers = ProcessorTime.seconds(of: Array(ids.dropFirst()))
        gateway = ProcessorTime.secondsOfThisProcess
        self.engine = engine.processor
        written = try engine.writtenBytes()
    }

    /// In seconds.
    func time(since other: LogUsage) -> Double { (moment - other.moment).inSeconds }
}
