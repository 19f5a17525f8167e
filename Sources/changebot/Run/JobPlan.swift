internal import ArgumentParser
internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Logging
internal import Rules

/// A command that applies rules to a database: `run`, `fix` and `dead-letters retry`.
protocol RuleCommand {
    var gateway: GatewayOptions { get }
    var access: AccessOptions { get }
    var state: StateOptions { get }
    var job: JobOptions { get }
    var common: CommonJobOptions { get }
}

/// The configuration of a command that applies rules to a database: gateway, state and rules.
struct JobPlan: Sendable {
    let connection: GatewayConnection
    let place: StateLocation
    let rules: RuleFileSet
    /// The paths of the rules, as given.
    let paths: [String]
    var settings: Delivery.Settings
    let summary: String?
    let grace: Duration

    /// The name of the state.
    var name: String { place.catalogue.name }

    /// Reads the options and the rules. Blocks.
    ///
    /// - Parameters:
    ///   - prefix: The prefix of the state's name.
    ///   - process: The process of a `run`; nil for other commands, which end by themselves.
    ///   - database: One of many databases. Nil: the gateway's URL names it.
    ///   - load: Reads rule files. Default: from disk.
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ command: some RuleCommand, _ environment: Environment, _ logger: Logger, namePrefix prefix: String = "",
        partOf process: ProcessPlan? = nil, of database: String? = nil,
        load: ([String]) throws -> RuleFileSet = { try RuleFileSet.load(paths: $0) }
    ) throws {
        paths = try command.job.rulePaths(environment)
        let memory = try process?.memory ?? command.job.memoryPool(environment)
        settings = try command.job.deliverySettings(
            command.common, environment, memory: memory, isDaemon: process?.isOneShot == false)
        let isDryRun = settings.preview != nil
        let choice = try command.gateway.choice(environment)
        connection = GatewayConnection(
            try database.map { name throws(CommandError) in try choice.naming(database: name) } ?? choice,
            for: process == nil ? .existing : .following(isDryRun: isDryRun), command.access, environment, logger)
        let location = StateLocation(
            choice: connection.choice, directory: command.state.directory(environment),
            prefix + (try command.state.botName(environment)), engine: try command.state.engine(environment),
            reference: command.state.reference(
                environment, gateway: command.gateway.address, rules: command.job.rules))
        place = database.map { location.of(database: $0, address: location.address) } ?? location
        summary = command.common.summaryPath(environment)
        grace = try command.common.grace(environment)
        rules = try command.checkingFiles(paths, connection, load)
        rules.logLikelyTypos(logger)
    }

    /// - Parameter ruleSet: The rules to apply at first.
    func job(_ ruleSet: RuleSet, isOneShot: Bool = true) -> Job {
        Job(
            connection: connection, place: place, ruleSetHash: ruleSet.hash, settings: settings, summary: summary,
            isOneShot: isOneShot, grace: grace)
    }
}

extension RuleCommand {
    /// Reads the rules, after checking all files of the command.
    ///
    /// - Throws: `RuleFilesError`; ``CommandError`` with 64 if the summary would overwrite an input, 73 if the
    ///   summary can't be written.
    fileprivate func checkingFiles(
        _ paths: [String], _ connection: GatewayConnection, _ load: ([String]) throws -> RuleFileSet
    ) throws -> RuleFileSet {
        let environment = connection.environment
        let summary = common.summaryPath(environment)
        var files = DistinctFiles(outputs: [("--summary", summary)])
        files.read(rules: paths, "--rules")
        files.read(access, connection.choice, environment)
        files.inputs.append(("--config", environment.configurationPath))
        files.read(state: state.directory(environment))
        try environment.checking("summary", isFlag: common.summary != nil) { () throws(CommandError) in
            try files.check()
        }
        let rules = try load(paths)
        files.read(rules.attached)
        try files.check(rules.emittedFiles)
        if let summary {
            try environment.checking("summary", isFlag: common.summary != nil) { () throws(CommandError) in
                try OutputFile.check(summary)
            }
        }
        return rules
    }
}

extension RuleFileSet {
    fileprivate func logLikelyTypos(_ logger: Logger) {
        for typo in likelyTypos() {
            var metadata: Logger.Metadata = [
                LogKey.file: "\(typo.path):\(typo.position.line):\(typo.position.column)",
                LogKey.reason: "\(typo.message)",
            ]
            if let rule = typo.rule { metadata["rule"] = "\(rule)" }
            logger.warning(
                typo.rule == nil
                    ? "a rule file looks incomplete"
                    : "a rule looks misspelt; 'changebot rules check' shows all warnings", metadata: metadata)
        }
    }
}
