internal import ArgumentParser
internal import Foundation
internal import GatewayClient

/// The program's own jobs against any gateway, each beside a yardstick on the same server.
struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway", abstract: "The program's jobs against any gateway, each beside a plain client.",
        discussion: """
            Credentials come from CHANGEBOT_USER and CHANGEBOT_PASSWORD. Give it an empty keyspace of its own: it loads \
            documents whose ids begin with 'bench-', refuses a keyspace with others, and deletes nothing. A second run \
            uses the documents that are there. import, latency and large add documents in each round, so they come \
            last; for the other cases, a new keyspace afterwards gives figures that can be compared.

            The yardsticks are curl for what reads, and for what writes a client that sends prepared documents, 250 \
            per request, four requests at a time. For feed-all and fix-all, curl reads the same documents at the same \
            time. latency compares with a longpoll and a _bulk_docs in sequence. The limits do not change the exit code: 1 \
            means that a case could not be measured. Cases: \
            \(GatewayCase.allCases.map(\.rawValue).joined(separator: ", ")).
            """)

    @Argument(help: ArgumentHelp("The keyspace.", valueName: "url"))
    var url: String

    @Option(help: "Documents in the keyspace. The other cases' numbers are in proportion.")
    var documents = 100_000

    @Option(help: "How often each case runs; the medians count.")
    var rounds = 5

    @Option(help: ArgumentHelp("Only these cases.", valueName: "a,b,…"))
    var cases: String?

    @Option(help: ArgumentHelp("Also write all values as JSON.", valueName: "file"))
    var json: String?

    private var chosen: [GatewayCase] {
        get throws {
            guard let cases else { return GatewayCase.allCases }
            return try cases.split(separator: ",").map { name in
                guard let known = GatewayCase(rawValue: String(name)) else {
                    let names = GatewayCase.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("no case is called '\(name)'; there are \(names)")
                }
                return known
            }
        }
    }

    func validate() throws {
        guard (1000...10_000_000).contains(documents) else {
            throw ValidationError("documents must be 1,000 to 10,000,000")
        }
        guard rounds > 0 else { throw ValidationError("there must be at least one round") }
        _ = try chosen
    }

    func run() async throws {
        Program.require([])
        let cases = try chosen
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let keyspace = try BenchmarkKeyspace(url)
        var benchmark = GatewayBenchmark(keyspace: keyspace, directory: directory, documents: documents)
        let load = MachineLoad()
        do { try await benchmark.prepare() } catch {
            FileHandle.standardError.write(Data("changebot-bench: \(error)\n".utf8))
            throw ExitCode(1)
        }
        // What adds documents comes last, so that the others read the same ones in each round.
        for part in [cases.filter { !$0.addsDocuments }, cases.filter(\.addsDocuments)] {
            for round in 0..<rounds {
                for name in part { await benchmark.measure(name, round: round) }
            }
        }
        print("medians of \(rounds) rounds; \(load.text)")
        benchmark.report(cases)
        try benchmark.figures.write(to: json)
        await keyspace.gateway.shutdown()
        if !benchmark.failed.isEmpty { throw ExitCode(1) }
    }
}
