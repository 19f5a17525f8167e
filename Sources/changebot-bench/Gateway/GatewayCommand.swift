internal import ArgumentParser
internal import Foundation
internal import GatewayClient

/// Measures the program's own jobs against any gateway, each with a yardstick on the same server.
struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway", abstract: "The program's jobs against any gateway, each compared with a plain client.",
        discussion: """
            Credentials come from CHANGEBOT_USER and CHANGEBOT_PASSWORD. Use an empty keyspace only for this: the \
            benchmark loads documents whose ids begin with 'bench-task-', refuses a keyspace with others, and deletes \
            nothing. A second run uses the same documents.

            Jobs that read are compared with curl. Jobs that write are compared with a client that sends prepared \
            documents, 250 per request, four requests at a time. For feed-all and fix-all, curl reads the same documents at the same \
            time. The limits are meant for 100,000 documents, and do not change the exit code.
            """)

    @Argument(help: ArgumentHelp("The keyspace.", valueName: "url"))
    var url: String

    @Option(help: "Documents in the keyspace.")
    var documents = 100_000

    @Option(help: "How often each case runs; the medians count.")
    var rounds = 5

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Only these cases.", valueName: "case"))
    var cases = GatewayCase.allCases

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    func validate() throws {
        guard (1000...10_000_000).contains(documents), rounds > 0 else {
            throw ValidationError("documents must be 1,000 to 10,000,000, in at least one round")
        }
    }

    func run() async throws {
        Program.require([])
        let keyspace = try BenchmarkKeyspace(url)
        let benchmark = try await Program.withDirectory { directory in
            var benchmark = GatewayBenchmark(keyspace: keyspace, directory: directory, documents: documents)
            try await benchmark.prepare()
            for round in 0..<rounds { for name in cases { try await benchmark.measure(name, round: round) } }
            return benchmark
        }
        print("medians of \(rounds) rounds")
        JobMeasure.report(cases.map { ($0.rawValue, $0.limits) }, benchmark.figures)
        try benchmark.figures.write(to: json)
        await keyspace.gateway.shutdown()
    }
}

extension GatewayCase: ExpressibleByArgument {}
