internal import Foundation
internal import TestKit

/// Measures how many changes a fleet decides, how long they take through its log, and what the log costs.
///
/// One member reads the feed; the others read each document and decide it. The gateway is a server in this process, see
/// ``WireDatabase``: changes appear in its feed at a fixed rate, and it observes the writes.
struct FleetBenchmark {
    private static let name = "fleet"
    private static let changesBefore = 1000
    /// Writes one document in a hundred, so that the bot's answer is visible.
    private static let rules =
        #"{"version":1,"rules":[{"name":"hundredth","when":{"type":"task","task":{"$regex":"00$"}},"#
        + #""then":[{"merge":{"seen":true}}]}]}"#

    let url: String
    /// Nil: PostgreSQL's process is unknown.
    let engineID: Int32?
    let options: FleetCommand

    func measure(round: Int, in directory: String, _ figures: inout Figures) throws {
        let server = try WireServer(WireFeed(), rowCount: 0)
        defer { server.stop() }
        let fleet = try FleetProcesses(url, name: "bench_\(getpid())_\(round)")
        defer {
            server.database.end()
            fleet.end()
        }
        let rules = try options.rules ?? Program.write(Self.rules, to: directory + "/rules.json")
        let arguments = ["--gateway", server.url, "--rules", rules]
        try fleet.start("reader", options: arguments, in: directory)
        for worker in 0..<options.workers {
            try fleet.start("worker", on: options.pinned ? worker : nil, options: arguments, in: directory)
        }
        try fleet.waitUntilShared(among: options.workers)
        let first = server.database.post(Self.changesBefore)
        _ = try drain(first, server.database, fleet)

        let (before, written) = (used(fleet), try fleet.walPosition())
        let began = ContinuousClock.now
        let numbers = postAll(to: server.database)
        let (after, time) = (used(fleet), (ContinuousClock.now - began).inSeconds)
        let rest = try drain(numbers, server.database, fleet)
        func add(_ value: Double, _ measure: String, _ unit: String) {
            figures.add(value, measure, unit: unit, of: Self.name)
        }
        add(Double(numbers.count) / (time + rest), "answered per second", "changes")
        let latencies = server.database.latencies(of: numbers).sorted()
        for percentile in [50, 99] {
            let index = min(latencies.count - 1, latencies.count * percentile / 100)
            add(latencies[index], "p\(percentile) from the feed to the write", "ms")
        }
        add(rest, "until all are answered", "s")
        add(Double(try fleet.walPosition() - written) / Double(numbers.count), "WAL per change", "bytes")
        for (start, end) in zip(before, after) { add((end.1 - start.1) / time, end.0, "processors") }
    }

    /// Adds the changes that are due, every millisecond.
    private func postAll(to database: WireDatabase) -> Range<Int> {
        let (count, began) = (options.rate * options.seconds, MonotonicTime.nanoseconds)
        var (first, posted) = (Int.max, 0)
        while posted < count {
            let due = min(count, (MonotonicTime.nanoseconds - began) * options.rate / 1_000_000_000)
            if due > posted { first = min(first, database.post(due - posted).lowerBound) }
            posted = due
            usleep(1000)
        }
        return first..<first + count
    }

    /// Waits until all changes are answered.
    ///
    /// - Returns: The duration in seconds.
    private func drain(_ numbers: Range<Int>, _ database: WireDatabase, _ fleet: FleetProcesses) throws -> Double {
        let began = ContinuousClock.now
        let sample = options.rules == nil ? numbers.filter { $0.isMultiple(of: 100) } : Array(numbers)
        try fleet.wait("the changes are not answered", within: .seconds(600)) { database.hasWritten(sample) }
        return (ContinuousClock.now - began).inSeconds
    }

    /// The processor time of the parts so far, in seconds.
    private func used(_ fleet: FleetProcesses) -> [(String, Double)] {
        let ids = fleet.members.map(\.processIdentifier)
        let parts: [(String, [Int32])] = [
            ("member that reads", Array(ids.prefix(1))), ("members that decide", Array(ids.dropFirst())),
            ("PostgreSQL", engineID.map { [$0] } ?? []),
        ]
        return parts.map { ($0, ProcessorTime.seconds(of: $1)) }
    }

    static func report(_ figures: Figures) { print(figures.table(of: name).text) }
}
