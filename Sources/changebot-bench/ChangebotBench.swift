internal import Glibc

/// `changebot-bench NAME`: measurements that anyone can repeat. One file for each benchmark.
@main
struct ChangebotBench {
    /// - Returns: Whether all checks held that do not depend on the machine.
    typealias Benchmark = @Sendable () async -> Bool

    static let benchmarks: [(name: String, about: String, run: Benchmark)] = [
        ("scanner", "change rows through the JSON scanner, against json-c and memcpy", { ScannerBenchmark.run() }),
        ("rules", "the program over 100,000 documents: full passes, many rules", { await RulesBenchmark.run() }),
        ("bot", "the program beside an embedded gateway: catching up, latency", { await BotBenchmark.run() }),
        ("page", "what --http and hundreds of readers of the page cost a bot", { await PageBenchmark.run() }),
    ]

    static func main() async {
        guard CommandLine.arguments.count == 2,
            let benchmark = benchmarks.first(where: { $0.name == CommandLine.arguments[1] })
        else {
            print("usage: changebot-bench NAME, where NAME is")
            for benchmark in benchmarks { print("  \(benchmark.name)  \(benchmark.about)") }
            exit(64)
        }
        exit(await benchmark.run() ? 0 : 1)
    }
}
