internal import Foundation

/// The time from a change to the bot's write: the bot follows the feed by longpoll, with a rule that merges a member
/// into each document. Also the time from the start of the program to its write of an existing change.
struct WireLatency {
    static let name = "latency"
    private static let starts = 20
    private static let quietChanges = 200
    /// How long each rate of changes lasts.
    private static let seconds = 3
    private static let rates = [100, 1000]
    private static let percentiles = [50, 99, 100]
    private static let rules = """
        version: 1
        rules:
          - name: seen
            when: { type: task, seen: { $exists: false } }
            then: [{ merge: { seen: true } }]
        """
    /// The case of the first start, and of later ones with the same state.
    private static let startNames = ["start, new state", "start, existing state"]
    private static let quietName = "\(name), after quiet"
    private static func name(_ rate: Int) -> String { "\(name), \(rate) changes/s" }

    let directory: String

    func measure(_ figures: inout Figures) throws {
        var spans: [[Double]] = [[], []]
        for _ in 0..<Self.starts {
            try withServer { database, start in
                for index in spans.indices {
                    let numbers = database.post()
                    let bot = try start()
                    defer { Program.stop(bot) }
                    spans[index] += try Self.latencies(of: numbers, database, bot)
                }
            }
        }
        for (name, values) in zip(Self.startNames, spans) { Self.add(values, of: name, &figures) }
        try withServer { database, start in
            let bot = try start()
            defer {
                bot.terminate()
                database.end()
                bot.waitUntilExit()
            }
            var quiet: [Double] = []
            for _ in 0..<Self.quietChanges {
                try Self.wait(bot) { database.hasPendingLongpoll }
                usleep(20_000)
                quiet += try Self.latencies(of: database.post(), database, bot)
            }
            Self.add(quiet, of: Self.quietName, &figures)
            for rate in Self.rates {
                Self.add(try Self.paced(database, bot, rate: rate), of: Self.name(rate), &figures)
            }
        }
    }

    /// - Parameter body: Receives a closure that starts a bot. All bots have the same state.
    private func withServer(_ body: (WireDatabase, _ start: () throws -> Process) throws -> Void) throws {
        let server = try WireServer(WireFeed(), rowCount: 0)
        defer { server.stop() }
        let file = try Program.write(Self.rules, to: directory + "/latency.yaml")
        let state = directory + "/latency"
        defer { try? FileManager.default.removeItem(atPath: state) }
        let url = server.url
        try body(server.database) {
            try Program.start([Program.path, "run", "--quiet", "--gateway", url, "--rules", file, "--state", state])
        }
    }

    private static func paced(_ database: WireDatabase, _ bot: Process, rate: Int) throws -> [Double] {
        let count = rate * seconds
        let began = MonotonicTime.nanoseconds
        var first = Int.max
        for number in 0..<count {
            let left = began + number * 1_000_000_000 / rate - MonotonicTime.nanoseconds
            if left > 0 { usleep(UInt32(left / 1000)) }
            first = min(first, database.post().lowerBound)
        }
        return try latencies(of: first..<first + count, database, bot)
    }

    /// Waits until the documents have been written back.
    private static func latencies(of numbers: Range<Int>, _ database: WireDatabase, _ bot: Process) throws -> [Double] {
        try wait(bot) { database.hasWritten(numbers) }
        return database.latencies(of: numbers)
    }

    /// Checks every millisecond.
    private static func wait(_ bot: Process, until isDone: () -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while !isDone() {
            guard bot.isRunning, ContinuousClock.now < deadline else {
                throw BenchmarkError("the bot does not write back what was changed")
            }
            usleep(1000)
        }
    }

    private static func add(_ latencies: [Double], of name: String, _ figures: inout Figures) {
        let sorted = latencies.sorted()
        for percentile in percentiles {
            let index = min(sorted.count - 1, sorted.count * percentile / 100)
            figures.add(sorted[index], label(percentile), unit: "ms", of: name)
        }
    }

    private static func label(_ percentile: Int) -> String { percentile == 100 ? "worst" : "p\(percentile)" }

    static func table(of figures: Figures) -> Table {
        var table = Table(["until _bulk_docs, ms"] + percentiles.map(label))
        for name in startNames + [quietName] + rates.map(name) {
            table.add(
                [name] + percentiles.map { (figures.median(label($0), of: name) ?? 0).formatted(decimals: 2) })
        }
        return table
    }
}
