internal import Foundation
internal import GatewayClient

/// The time from a change to the bot's write: the bot follows the feed by longpoll, with a rule that merges a member
/// into each document.
struct LatencyBenchmark {
    static let name = "longpoll"
    private static let quietChanges = 200
    /// How long a rate of changes is kept up.
    private static let seconds = 3
    private static let rates = [100, 1000]
    private static let percentiles = [50, 99, 100]
    private static let patience: Duration = .seconds(30)
    static let rules = """
        version: 1
        rules:
          - name: seen
            when: { type: task, seen: { $exists: false } }
            then: [{ merge: { seen: true } }]
        """

    let directory: String

    func measure(_ figures: inout Figures) throws {
        let server = try WireServer(WireFeed(.syncGateway), rowCount: 0)
        defer { server.stop() }
        let file = directory + "/latency.yaml"
        try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: file))
        let state = directory + "/latency"
        defer { try? FileManager.default.removeItem(atPath: state) }
        let bot = try Program.start([
            Program.path, "run", "--quiet", "--gateway", server.newURL(), "--rules", file, "--state", state,
        ])
        defer {
            bot.terminate()
            server.database.end()
            bot.waitUntilExit()
        }
        let database = server.database
        try Self.wait(bot) { database.hasPendingLongpoll }
        var quiet: [Double] = []
        for _ in 0..<Self.quietChanges {
            try Self.wait(bot) { database.hasPendingLongpoll }
            Thread.sleep(forTimeInterval: 0.02)
            let numbers = database.post()
            try Self.wait(bot) { database.hasWritten(numbers) }
            quiet += database.latencies(of: numbers)
        }
        Self.add(quiet, of: "\(Self.name), after quiet", &figures)
        for rate in Self.rates {
            try Self.add(measure(database, bot, rate: rate), of: "\(Self.name), \(rate) changes/s", &figures)
        }
    }

    private func measure(_ database: WireDatabase, _ bot: Process, rate: Int) throws -> [Double] {
        let count = rate * Self.seconds
        let began = MonotonicTime.nanoseconds
        var first = Int.max
        for number in 0..<count {
            let left = began + number * 1_000_000_000 / rate - MonotonicTime.nanoseconds
            if left > 0 { usleep(UInt32(left / 1000)) }
            first = min(first, database.post().lowerBound)
        }
        let numbers = first..<first + count
        try Self.wait(bot) { database.hasWritten(numbers) }
        return database.latencies(of: numbers)
    }

    /// Looks every millisecond.
    static func wait(_ bot: Process, until isDone: () -> Bool) throws {
        let deadline = ContinuousClock.now + patience
        while !isDone() {
            guard bot.isRunning, ContinuousClock.now < deadline else {
                throw BenchmarkError("the bot does not write back what was changed")
            }
            usleep(1000)
        }
    }

    static func add(_ latencies: [Double], of name: String, _ figures: inout Figures) {
        let sorted = latencies.sorted()
        for percentile in percentiles {
            let index = min(sorted.count - 1, sorted.count * percentile / 100)
            figures.add(sorted[index], label(percentile), unit: "ms", of: name)
        }
    }

    private static func label(_ percentile: Int) -> String { percentile == 100 ? "worst" : "p\(percentile)" }

    static func table(of figures: Figures) -> Table {
        let cases = ["after quiet"] + rates.map { "\($0) changes/s" }
        return table("change to _bulk_docs, ms", of: cases.map { "\(name), \($0)" }, figures)
    }

    /// A line for each of `names`.
    static func table(_ title: String, of names: [String], _ figures: Figures) -> Table {
        var table = Table([title] + percentiles.map(label))
        for name in names {
            table.add(
                [name]
                    + percentiles.map { percentile in
                        (figures.median(label(percentile), of: name) ?? 0).formatted(decimals: 2, width: 1)
                    })
        }
        return table
    }
}
