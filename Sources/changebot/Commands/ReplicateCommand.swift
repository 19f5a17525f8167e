internal import ArgumentParser
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules
internal import Transfer

struct ReplicateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replicate",
        abstract: "Copy the revisions of one keyspace to another, including deletions and conflicts.",
        discussion: """
            Speaks CouchDB's replication protocol with Sync Gateway, CouchDB and embedded gateways. A second run \
            transfers only later changes:

            changebot replicate http://127.0.0.1:5984/todo http://127.0.0.1:4985/todo
            changebot replicate http://127.0.0.1:4985/todo embedded:backup.sqlite

            Credentials come from the environment: CHANGEBOT_SOURCE_USER with CHANGEBOT_SOURCE_PASSWORD or \
            CHANGEBOT_SOURCE_PASSWORD_FILE, or CHANGEBOT_SOURCE_TOKEN; likewise CHANGEBOT_TARGET_USER and so on.

            Exit codes: 0 done; 1 some revisions were not replicated; 65 stopped at --max-errors.
            """)

    @Argument(
        help: ArgumentHelp(
            "The keyspace to read: http(s)://host:port[/prefix]/KEYSPACE, or embedded:FILE.", valueName: "source"))
    var source: String

    @Argument(help: ArgumentHelp("The keyspace to write, in the same form.", valueName: "target"))
    var target: String

    @OptionGroup var config: ConfigOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Keep replicating changes as they happen, until a signal.")
    var continuous = false

    @Flag(help: "Replicate from TARGET to SOURCE too.")
    var bothWays = false

    @Flag(help: "Create the target's database if it is missing (CouchDB).")
    var createTarget = false

    @Option(help: ArgumentHelp("Only revisions that match this Mango selector.", valueName: "json"))
    var selector: String?

    @Option(
        help: ArgumentHelp("Only documents in these channels of the source (Sync Gateway).", valueName: "a,b"),
        transform: ChannelList.parse)
    var channels: ChannelList?

    @Option(
        help: ArgumentHelp(
            "Transform documents with these mappings. Can be repeated.", valueName: "rules"),
        completion: .yamlFile)
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "With --both-ways, the mappings for the direction TARGET to SOURCE: the inverse of --map. Can be repeated.",
            valueName: "rules"), completion: .yamlFile)
    var mapBack: [String] = []

    @Option(
        name: .customLong("id"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Only the document with this id. Can be repeated.", valueName: "id"))
    var ids: [String] = []

    func run() async throws {
        let environment = try config.environment()
        OpenFiles.raiseLimit()
        let logger = try log.logger(environment)
        let ends = [
            try Endpoint(source, "SOURCE", environment.of(.source), access),
            try Endpoint(target, "TARGET", environment.of(.target), access),
        ]
        let createsTarget = try environment.isOn(createTarget, "create-target")
        let isBothWays = try environment.isOn(bothWays, "both-ways")
        try check(ends, isBothWays, environment)
        var settings = try settings(isBothWays, environment)
        logger.warn(about: settings.filter)
        var back = settings
        (back.sourceRetries, back.targetRetries) = (settings.targetRetries, settings.sourceRetries)
        if !map.isEmpty { settings.mapping = try await Mapping.load(paths: map) }
        if !mapBack.isEmpty { back.mapping = try await Mapping.load(paths: mapBack) }
        let report = ReplicationReport()
        let job = TransferJob(
            options: common, environment: environment, logger: logger,
            progress: try common.progress(environment, log))
        try await job.run(report, limit: settings.errorLimit) { [settings, back] service in
            let use: EmbeddedFileUse = isBothWays ? .replicating : .existing
            try await connect(ends[0], for: use, logger) { source in
                try await connect(ends[1], for: .replicating, logger) { target in
                    let (from, to) = (
                        ends[0].joined(to: source, settings.sourceRetries, report, logger),
                        ends[1].joined(to: target, settings.targetRetries, report, logger)
                    )
                    if createsTarget { try await to.create(copying: from, logger) }
                    if isBothWays {
                        try await service(
                            TwoWayReplicator(
                                from: from, to: to, settings: settings, back: back, report: report, logger: logger))
                    } else {
                        try await service(
                            Replicator(from: from, to: to, settings: settings, report: report, logger: logger))
                    }
                }
            }
        }
    }

    private func connect(
        _ end: Endpoint, for use: EmbeddedFileUse, _ logger: Logger, _ body: (Gateway) async throws -> Void
    ) async throws {
        try await GatewayConnection(end.choice, for: use, access, end.environment, logger).with(body)
    }

    /// - Throws: ``CommandError`` with 64 if both ends are the same or an output is also an input, with 66 if a source
    ///   file is missing, with 73 if the summary can't be written.
    private func check(_ ends: [Endpoint], _ isBothWays: Bool, _ environment: Environment) throws(CommandError) {
        guard ends[0].choice == .embedded(file: nil) || ends[0].identity.address != ends[1].identity.address else {
            throw CommandError(.usage, "SOURCE and TARGET are the same: there is nothing to replicate")
        }
        for end in ends where end.choice == .embedded(file: nil) {
            throw CommandError(
                .usage, "embedded: is an empty database in memory; write embedded:FILE to replicate with a file")
        }
        if !isBothWays { try ends[0].choice.requireFile() }
        let summary = common.summaryPath(environment)
        var files = DistinctFiles(outputs: [("--summary", summary)])
        for end in ends { files.read(access, end.choice, end.environment) }
        files.read(rules: map + mapBack, "--map")
        try files.check()
        if let summary { try OutputFile.check(summary) }
    }

    /// - Throws: ``CommandError`` with 64; `RuleFilesError` if the selector is not valid.
    private func settings(_ isBothWays: Bool, _ environment: Environment) throws -> ReplicationSettings {
        var settings = ReplicationSettings()
        settings.isContinuous = try environment.isOn(continuous, "continuous")
        settings.selector = selector ?? environment["selector"]
        settings.filter = try settings.selector.map { text throws(RuleFilesError) in
            try DocumentFilter(text, name: "--selector")
        }
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        if !ids.isEmpty { settings.documentIDs = ids.map { DocumentID($0) } }
        guard mapBack.isEmpty || isBothWays else {
            throw CommandError(.usage, "--map-back requires --both-ways; add --both-ways, or remove --map-back")
        }
        guard settings.documentIDs == nil || settings.channels == nil else {
            throw CommandError(.usage, "--id and --channels can't be combined: remove one")
        }
        guard settings.channels == nil || !isBothWays else {
            throw CommandError(
                .usage, "--channels and --both-ways can't be combined: channels select on one side only; remove one")
        }
        guard settings.documentIDs == nil || !settings.isContinuous else {
            throw CommandError(
                .usage,
                "--id and --continuous can't be combined: Sync Gateway has no feed of single documents; remove one")
        }
        if isBothWays {
            settings.policies = try conflicts.policies(settings.filter, environment)
            settings.policyTexts = conflicts.identity(environment)
        } else if !conflicts.policy.isEmpty {
            throw CommandError(
                .usage, "--policy settles conflicts at both ends: add --both-ways, or resolve them at the source")
        }
        settings.sourceRetries = try common.retries(environment, isDaemon: settings.isContinuous)
        settings.targetRetries = try common.retries(environment, isDaemon: settings.isContinuous)
        settings.errorLimit = try common.errorLimit(environment)
        return settings
    }
}

/// SOURCE or TARGET of a replication.
private struct Endpoint {
    let choice: GatewayChoice
    let environment: Environment
    let identity: ReplicationID.End

    /// - Throws: ``CommandError`` with 64 for an address or credentials that are not valid.
    init(
        _ text: String, _ name: String, _ environment: Environment, _ access: AccessOptions
    ) throws(CommandError) {
        choice = try GatewayChoice(text, option: name)
        self.environment = environment
        var user: String?
        if case .remote(let url) = choice {
            let credentials = try access.settings(for: url, environment).credentials
            if case .basic(let name, _)? = credentials { user = name }
        }
        identity = choice.identity(user: user)
    }

    func joined(
        to gateway: Gateway, _ retries: RetryPolicy.Settings, _ report: ReplicationReport, _ logger: Logger
    ) -> ReplicationEnd {
        ReplicationEnd(
            gateway, identity: identity,
            contact: GatewayContact(settings: retries, logger: logger) { report.noteRetry() })
    }
}
