internal import ArgumentParser
internal import DocumentFlow
internal import GatewayClient
internal import Monitoring
internal import Pipeline
internal import Rules
internal import Transfer

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow the changes feed and apply rules to each changed document.",
        discussion: "Example: changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml")

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var http: HTTPOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Process the changes that the feed holds now, then end.")
    var once = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where to start if there is no checkpoint: 0 (the beginning), now, or a sequence. Default: 0.",
            valueName: "seq"), transform: StartArgument.parse)
    var since: StartArgument?

    @Option(help: "How to wait for changes. Default: longpoll.")
    var feed: FeedReader.Following?

    @Option(
        help: ArgumentHelp("Only documents in these channels (Sync Gateway).", valueName: "a,b"),
        transform: ChannelList.parse)
    var channels: ChannelList?

    @Option(
        help:
            "What to do when the database was reset or restored: restart (at the beginning of the feed) or stop (with exit code 78). Default: restart."
    )
    var onReset: ResetPolicy?

    func run() async throws {
        do { try await start(Environment()) } catch { throw CommandError(error) }
    }

    private func start(_ environment: Environment) async throws {
        let paths = try job.rulePaths(environment)
        let logger = try log.logger(environment, isDaemon: try !environment.isOn(once, "once"))
        var settings = BotSettings()
        settings.isOneShot = try environment.isOn(once, "once")
        settings.since = try environment.value(since, "since", parse: StartArgument.init(argument:))?.start
        settings.name = try state.botName(environment)
        settings.following =
            try environment.value(feed, "feed", parse: FeedReader.Following.init(rawValue:)) ?? settings.following
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        settings.onReset =
            try environment.value(onReset, "on-reset", parse: ResetPolicy.init(rawValue:)) ?? settings.onReset
        settings.delivery = try job.deliverySettings(common, environment, isDaemon: !settings.isOneShot)
        let choice = try gateway.choice(environment)
        let httpChoice = try http.choice(environment)
        let files = try job.loadRules(
            paths, common, access, choice, state: state.directory(environment), environment, logger)
        let place = StateLocation(choice: choice, directory: state.directory(environment), settings.name)
        let ruleSet = try files.ruleSet()
        var job = Job(
            options: common, access: access, environment: environment, logger: logger, ruleSet: ruleSet, place: place,
            choice: choice, settings: settings.delivery,
            isOneShot: settings.isOneShot, fileUse: .following(isDryRun: settings.delivery.preview != nil))
        job.monitoring = RunMonitoring(
            http: httpChoice,
            bot: BotDescription(
                name: settings.name, gateway: choice.stateAddress, stateOptions: place.lastingOptions,
                retryOptions: place.lastingOptions.map { options in
                    "\(options) --rules \(paths.map(\.shellWord).joined(separator: " "))"
                }, rules: RuleSetDescription(hash: ruleSet.hash, names: ruleSet.names, paths: paths)),
            statusDirectory: place.isTemporary || settings.delivery.preview != nil ? nil : place.catalogue.directory,
            logger: logger)
        try await job.run { [settings] parts in
            var settings = settings
            settings.delivery = parts.settings
            return Bot(
                gateway: parts.gateway, ruleSet: parts.ruleSet, state: parts.state, settings: settings,
                report: parts.report, logger: parts.logger)
        }
    }
}

extension FeedReader.Following: ExpressibleByArgument {}
extension ResetPolicy: ExpressibleByArgument {}

/// The value of `--since`: where a run without a checkpoint starts.
struct StartArgument: OptionValue {
    static let expected = "0, now, or a sequence as the gateway prints it, such as 1234 or 7-g1AAAA"

    let start: BotSettings.Start

    init?(argument: String) {
        switch argument {
        case "0": start = .beginning
        case "now": start = .now
        default:
            guard let sequence = SequenceArgument(argument: argument) else { return nil }
            start = .sequence(sequence.sequence)
        }
    }
}
