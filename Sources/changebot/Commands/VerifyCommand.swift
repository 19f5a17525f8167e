internal import ArgumentParser
internal import GatewayClient
internal import Logging
internal import Pipeline
internal import Transfer

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Hold an export against its manifest, or against a gateway.",
        discussion: """
            Prints one JSON object for each thing that is not as it should be, and ends with 65 if there is any:

            changebot verify todo.ndjson.gz
            changebot verify todo.ndjson.gz --against http://127.0.0.1:4985/todo
            """)

    @Argument(help: "The export. Its manifest, FILE.manifest.json, stands beside it.")
    var file: String

    @Option(help: ArgumentHelp("Compare the documents with those of this keyspace.", valueName: "url"))
    var against: String?

    @Flag(help: "With --against: their revisions must be the same too.")
    var revisions = false

    @Option(help: ArgumentHelp("Where the attachments are by now.", valueName: "dir"))
    var attachments: String?

    @Option(help: "Print at most so many findings. Default: 1000.")
    var limit: Int?

    @Option(help: "How long trouble with the gateway is borne. Default: 5m.")
    var retryFor: TimeSpan?

    @OptionGroup var access: AccessOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        do { try await start(Environment()) } catch let error as TransferError { throw CommandFailure(error) } catch {
            throw CommandFailure(error)
        }
    }

    private func start(_ environment: Environment) async throws {
        let logger = try log.logger(environment)
        let limit = try environment.value(limit, "limit", parse: Int.init) ?? 1000
        let choice = try (against ?? environment["against"]).map { text throws(CommandFailure) in
            try GatewayChoice(text, option: "--against")
        }
        let patience = try environment.patience(retryFor: retryFor)
        let export = try ExportFile(file)
        var count = 0
        func report(_ finding: VerificationFinding) throws {
            count += 1
            if count <= limit { try Console.write(finding.json) }
        }
        try await ExportVerifier(export, attachments: attachments ?? environment["attachments"]).verify(report)
        let damaged = count
        if let choice {
            let revisions = try environment.isOn(revisions, "revisions")
            try await GatewayConnection.with(choice, access: access, environment: environment, logger: logger) {
                gateway in
                _ = try? await gateway.findDialect()
                try await GatewayComparison(
                    export, gateway: gateway, comparesRevisions: revisions, patience: patience, logger: logger
                ).compare(report)
            }
        }
        if count > limit { Console.complain("changebot: \(count - limit) findings more, not printed; see --limit") }
        if damaged > 0 {
            throw CommandFailure(.invalidData, "\(file) is not as its manifest says: \(Self.findings(damaged))")
        }
        guard count == 0 else {
            throw CommandFailure(.invalidData, "\(file) and the gateway are not the same: \(Self.findings(count))")
        }
        logger.info("verified", metadata: ["documents": "\(export.manifest.counts.lines)"])
    }

    private static func findings(_ count: Int) -> String { count == 1 ? "1 finding" : "\(count) findings" }
}
