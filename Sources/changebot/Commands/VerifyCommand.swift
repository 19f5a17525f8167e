internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Logging
internal import Revisions
internal import Transfer

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check an export against its manifest, or against a gateway.",
        discussion: """
            Prints one JSON object per finding, and exits with 65 if there are any:

            changebot verify todo.ndjson.gz
            changebot verify todo.ndjson.gz --against http://127.0.0.1:4985/todo
            """)

    @Argument(help: "The export. Its manifest, FILE.manifest.json, must be in the same folder.", completion: .file())
    var file: String

    @Option(help: ArgumentHelp("Compare the documents with the documents of this keyspace.", valueName: "url"))
    var against: String?

    @Flag(help: "With --against: compare revisions too.")
    var revisions = false

    @Option(
        help: ArgumentHelp("The folder with the attachments, if it was moved.", valueName: "dir"),
        completion: .directory)
    var attachments: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Print at most this many findings. Default: 1000.", valueName: "n"), transform: Count.parse)
    var limit: Count?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long to retry while the gateway fails. Default: 5m.", valueName: "duration"),
        transform: TimeSpan.parse)
    var retryFor: TimeSpan?

    @OptionGroup var config: ConfigOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = try config.environment()
        let logger = try log.logger(environment)
        let limit = try environment.value(limit, "limit", parse: Count.init(argument:))?.number ?? 1000
        let choice = try (against ?? environment["against"]).map { text throws(CommandError) in
            try GatewayChoice(text, option: "--against")
        }
        let retries = try environment.retries(retryFor: retryFor)
        try choice?.requireFile()
        let export = try export(isCompared: choice != nil)
        if choice != nil, export.manifest.options.format.isTable {
            throw CommandError(.usage, "\(file): \(GatewayComparison.tableRemedy)")
        }
        let verifier = try ExportVerifier(export, attachments: attachments ?? environment["attachments"])
        let revisions = try environment.isOn(revisions, "revisions")
        let findings = PrintedFindings(limit: limit)
        let verification = Verification(verifier: verifier, findings: findings) { [access] in
            guard let choice else { return }
            try await GatewayConnection(choice, for: .existing, access, environment, logger).with { gateway in
                try await GatewayComparison(
                    export, gateway: gateway, comparesRevisions: revisions, retries: retries, logger: logger
                ).compare(findings.print)
            }
        }
        try await StoppableService.run(grace: StoppableService.defaultGrace, logger: logger) {
            try await verification.run()
        }
        if findings.unprinted > 0 {
            logger.warning(
                "not all findings are printed; see --limit",
                metadata: [LogKey.more: .stringConvertible(findings.unprinted)])
        }
        try reportResult(verification.result, findings, of: export, logger)
    }

    private func reportResult(
        _ result: Verification.Result, _ findings: PrintedFindings, of export: ExportFile, _ logger: Logger
    ) throws(CommandError) {
        let count = findings.count
        result.parts?.logUnverifiedParts(in: export, to: logger)
        let damages = result.parts == nil ? count : result.damages
        if damages > 0, let blob = findings.firstBlob, findings.blobCount == damages {
            throw CommandError(.invalidData, Self.incompleteBlobs(blob, damages, in: file))
        }
        if damages > 0 {
            throw CommandError(.invalidData, "\(file) differs from its manifest: \(Self.findings(damages))")
        }
        guard count == 0 else {
            throw CommandError(.invalidData, "\(file) and the gateway differ: \(Self.findings(count))")
        }
        guard !result.isStopped, let parts = result.parts else {
            // A partial verification must not count as success.
            throw CommandError(.temporaryFailure, "stopped before the end: not everything was verified; run it again")
        }
        logger.info(
            "verified",
            metadata: [
                LogKey.documents: "\(export.manifest.counts.lines)", LogKey.attachments: "\(parts.verifiedAttachments)",
            ])
    }

    /// - Throws: `TransferError`; ``CommandError`` with 64 if the file has no manifest and its name is that of a table.
    private func export(isCompared: Bool) throws -> ExportFile {
        do throws(TransferError) { return try ExportFile(file) } catch {
            let isTable = InputFormat(fileName: file)?.isTable == true && FileManager.default.fileExists(atPath: file)
            guard isCompared, isTable, error.code == .missing else { throw error }
            throw CommandError(.usage, "\(file): \(GatewayComparison.tableRemedy)")
        }
    }

    /// The message for a file that is as it was exported, but has blobs without their bytes.
    private static func incompleteBlobs(_ first: VerificationFinding, _ count: Int, in file: String) -> String {
        let further = count > 1 ? ", and \((count - 1).counted("further finding")) like it" : ""
        return "\(file) has incomplete blobs, as they were at the gateway: document '\(first.id ?? "")', "
            + "\(first.path ?? ""): \(first.message ?? "")\(further); add the attachment there, in the app or with "
            + "attach: { blob: … }, or remove the member, then export again"
    }

    private static func findings(_ count: Int) -> String { count.counted("finding") }
}
