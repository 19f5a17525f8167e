internal import Encodings
internal import Foundation
internal import GatewayClient
internal import Locking
internal import LosslessJSON

/// The time from the beginning of a PUT until another client of the feed sees what a bot made of it: the program's bot,
/// and one of two plain requests, a longpoll and a `_bulk_docs`. Both follow the feed by longpoll.
struct GatewayLatency {
    /// Who answers the changes.
    private enum Bot: String, CaseIterable {
        case changebot, floor
    }

    /// How the changes come.
    private enum Load: CaseIterable {
        case quiet, one, hundred, thousand

        var name: String { self.rate.map { "latency, \($0.counted("write"))/s" } ?? "latency, quiet" }
        var rate: Int? {
            switch self {
            case .quiet: nil
            case .one: 1
            case .hundred: 100
            case .thousand: 1000
            }
        }

        /// How many changes there are at this rate.
        var changes: Int { max((rate ?? 0) * 3, 10) }
    }

    private static let percentiles = [50, 90, 99, 100]
    /// Between two quiet changes.
    private static let pause: Duration = .milliseconds(30)
    private static let quietBlocks = 4
    private static let quietChanges = 50
    /// The upper bounds of the histogram, in milliseconds.
    private static let bounds = [2, 5, 10, 20, 30, 50, 100, 200, 500, 1000]
    private static let writers = 32
    private static let reached = "writes per second"
    /// The part of a rate that must be reached.
    private static let enough = 0.9
    private static let patience: Duration = .seconds(30)
    private static let type = "latency"
    private static let rules = """
        version: 1
        rules:
          - name: seen
            when: { type: latency, seen: { $exists: false } }
            then: [{ merge: { seen: true } }]
        """

    let keyspace: BenchmarkKeyspace
    let directory: String

    /// - Parameter round: A number that no earlier round had.
    func measure(round: Int, _ figures: inout Figures) async throws {
        var quiet: [Bot: [Double]] = [:]
        for block in 0..<Self.quietBlocks {
            for bot in Bot.allCases {
                let name = "\(round)-\(bot.rawValue)-\(block)"
                let latencies: [Double] = try await with(bot) { watch in
                    try await quietLatencies(name, watch)
                }
                quiet[bot, default: []] += latencies
            }
        }
        for bot in Bot.allCases { Self.add(quiet[bot] ?? [], of: bot, .quiet, &figures) }
        for load in Load.allCases {
            guard let rate = load.rate else { continue }
            // Without the floor's figures nobody knows whether the server can do this.
            for bot in [Bot.floor, .changebot] {
                let name = "\(round)-\(bot.rawValue)-at-\(rate)"
                let (latencies, reached): ([Double], Double) = try await with(bot) { watch in
                    try await paced(name, rate: rate, load.changes, watch)
                }
                figures.add(reached, "\(bot.rawValue): \(Self.reached)", unit: "writes", of: load.name)
                guard reached >= Double(rate) * Self.enough else { break }
                Self.add(latencies, of: bot, load, &figures)
            }
        }
    }

    // MARK: - Changes

    private func quietLatencies(_ name: String, _ watch: WrittenDocuments) async throws -> [Double] {
        var latencies: [Double] = []
        for number in 0..<Self.quietChanges {
            try await Task.sleep(for: Self.pause)
            let id = "bench-latency-\(name)-\(number)"
            let began = try await put(id)
            latencies.append((try await arrival(of: id, watch) - began).inSeconds * 1000)
        }
        return latencies
    }

    /// - Returns: Also how many writes there were per second: fewer if the server is slower.
    private func paced(
        _ name: String, rate: Int, _ count: Int, _ watch: WrittenDocuments
    ) async throws -> ([Double], Double) {
        let began = ContinuousClock.now
        var starts: [String: ContinuousClock.Instant] = [:]
        try await withThrowingTaskGroup(of: (String, ContinuousClock.Instant).self) { group in
            for number in 0..<count {
                let due = began + .microseconds(number * 1_000_000 / rate)
                if due > .now { try await Task.sleep(until: due) }
                if number >= Self.writers, let (id, start) = try await group.next() { starts[id] = start }
                let id = "bench-latency-\(name)-\(number)"
                group.addTask { (id, try await put(id)) }
            }
            for try await (id, start) in group { starts[id] = start }
        }
        let reached = Double(count) / (ContinuousClock.now - began).inSeconds
        var latencies: [Double] = []
        for (id, start) in starts { latencies.append((try await arrival(of: id, watch) - start).inSeconds * 1000) }
        return (latencies, reached)
    }

    /// - Returns: When the request began.
    private func put(_ id: String) async throws -> ContinuousClock.Instant {
        let began = ContinuousClock.now
        try await keyspace.plain.send("PUT", "/" + id, body: BenchmarkKeyspace.task(1, id: id, type: Self.type))
        return began
    }

    private func arrival(of id: String, _ watch: WrittenDocuments) async throws -> ContinuousClock.Instant {
        let deadline = ContinuousClock.now + Self.patience
        while ContinuousClock.now < deadline {
            if let arrival = watch.arrivals.withLock({ $0[id] }) { return arrival }
            try await Task.sleep(for: .milliseconds(1))
        }
        throw BenchmarkError("\(id) was not written back within \(Self.patience)")
    }

    // MARK: - Bots

    /// Runs `body` while a bot works and its writes are watched.
    private func with<Result: Sendable>(
        _ bot: Bot, _ body: (WrittenDocuments) async throws -> Result
    ) async throws -> Result {
        let since = try await keyspace.newestSequence()
        let watch = WrittenDocuments()
        let plain = keyspace.plain
        return try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await plain.follow(since: since) { watch.note($0) } }
            if bot == .floor {
                group.addTask { try await plain.follow(since: since) { try await Self.answer($0, plain) } }
            }
            let process = try bot == .changebot ? start(since: since) : nil
            defer {
                process?.terminate()
                process?.waitUntilExit()
            }
            // The first answer says that the bot and the watch follow the feed.
            let first = "bench-latency-\(UUID().uuidString)"
            _ = try await put(first)
            _ = try await arrival(of: first, watch)
            return try await body(watch)
        }
    }

    private func start(since: SequenceID) throws -> Process {
        let file = directory + "/latency.yaml"
        try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
        let state = directory + "/latency-state"
        try? FileManager.default.removeItem(atPath: state)
        return try Program.start([
            Program.path, "run", "--quiet", "--gateway", keyspace.url, "--rules", file, "--state", state,
            "--since", since.queryValue,
        ])
    }

    /// Does what the rule does, in one request.
    private static func answer(_ rows: [JSONValue], _ plain: PlainClient) async throws {
        let documents = rows.compactMap { row -> [UInt8]? in
            guard let document = row["doc"], document["type"]?.isString(type) == true, document["seen"] == nil else {
                return nil
            }
            return BenchmarkKeyspace.setting("seen", to: "true", in: document)
        }
        guard !documents.isEmpty else { return }
        let body = Array(#"{"docs":["#.utf8) + documents.joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
        try await plain.send("POST", "/_bulk_docs", body: body)
    }

    // MARK: - Figures

    private static func add(_ latencies: [Double], of bot: Bot, _ load: Load, _ figures: inout Figures) {
        let sorted = latencies.sorted()
        for percentile in percentiles where !sorted.isEmpty {
            let value = sorted[min(sorted.count - 1, sorted.count * percentile / 100)]
            figures.add(value, "\(bot.rawValue): \(label(percentile))", unit: "ms", of: load.name)
        }
        for bound in bounds where !sorted.isEmpty {
            let share = Double(sorted.count { $0 <= Double(bound) }) / Double(sorted.count) * 100
            figures.add(share, "\(bot.rawValue): \(within(bound))", unit: "%", of: load.name)
        }
    }

    private static func within(_ bound: Int) -> String { "within \(bound) ms" }

    private static func label(_ percentile: Int) -> String { percentile == 100 ? "worst" : "p\(percentile)" }

    static func isLoad(_ name: String) -> Bool { Load.allCases.contains { $0.name == name } }

    /// Percentiles, and how many of 100 were answered within some times. Empty if nothing was measured.
    static func tables(of figures: Figures) -> [Table] {
        let loads = Load.allCases.filter { figures.median("\(Bot.changebot.rawValue): p50", of: $0.name) != nil }
        guard !loads.isEmpty else { return [] }
        func table(_ columns: [String], _ measures: [String], decimals: Int) -> Table {
            var table = Table(["case", "program"] + columns, labels: 2)
            for load in loads {
                for bot in Bot.allCases {
                    let cells = measures.map { measure in
                        figures.median("\(bot.rawValue): \(measure)", of: load.name)?
                            .formatted(decimals: decimals, width: 1) ?? "-"
                    }
                    table.add([bot == .changebot ? load.name : "", bot.rawValue] + cells)
                }
            }
            return table
        }
        return [
            table(
                percentiles.map { label($0) + " ms" } + ["writes/s"], percentiles.map(label) + [reached], decimals: 1),
            table(bounds.map { "% in \($0) ms" }, bounds.map(within), decimals: 0),
        ]
    }

    /// Not of a rate that the server did not reach.
    static func verdicts(_ figures: Figures) -> [String] {
        Load.allCases.flatMap { load -> [String] in
            let slowest = Bot.allCases.compactMap { figures.median("\($0.rawValue): \(reached)", of: load.name) }.min()
            if let rate = load.rate, let slowest, slowest < Double(rate) * enough {
                return ["\(load.name): the server accepts only \(Int(slowest)) writes/s"]
            }
            return [(50, 5.0), (99, 20.0)].compactMap { percentile, allowed in
                guard let own = figures.median("\(Bot.changebot.rawValue): \(label(percentile))", of: load.name),
                    let floor = figures.median("\(Bot.floor.rawValue): \(label(percentile))", of: load.name)
                else { return nil }
                let difference = own - floor
                return "\(load.name): \(label(percentile)) at most the floor + \(Int(allowed)) ms: "
                    + (difference <= allowed ? "ok" : "NOT REACHED")
                    + " (\(difference.formatted(decimals: 1, width: 1)))"
            }
        }
    }
}

/// When a client of the feed first saw each document that a bot has written.
private final class WrittenDocuments: Sendable {
    let arrivals = Locked<[String: ContinuousClock.Instant]>([:])

    func note(_ rows: [JSONValue]) {
        let now = ContinuousClock.now
        for row in rows where row["doc"]?["seen"] != nil {
            guard let id = row["id"]?.string else { continue }
            arrivals.withLock { $0[id] = $0[id] ?? now }
        }
    }
}
