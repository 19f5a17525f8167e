internal import ArgumentParser
internal import GatewayClient
internal import Pipeline
internal import Rules
internal import Worker

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow a changes feed and do what the rules say.",
        discussion: "Example: changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml")

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Work off what the feed holds now, then end.")
    var once = false

    @Option(help: "Where to start if there is no checkpoint: 0, now or a sequence. Default: 0.")
    var since: String?

    @Option(help: "How to wait for changes: longpoll or continuous. Default: longpoll.")
    var feed: FeedReader.Following?

    @Option(help: "Only what is in these channels of a Sync Gateway, with commas between them.")
    var channels: ChannelList?

    @Option(
        help: "When the database was reset or restored: restart (at the beginning) or stop (78). Default: restart.")
    var onReset: ResetPolicy?

    func run() async throws {
        do { try await start(Environment()) } catch { throw CommandFailure(error) }
    }

    private func start(_ environment: Environment) async throws {
        let logger = try log.logger(environment)
        let paths = try job.rulePaths(environment)
        var settings = BotSettings()
        settings.isOneShot = try environment.isOn(once, "once")
        settings.since = try startingPoint(environment)
        settings.name = try state.botName(environment)
        settings.following =
            try environment.value(feed, "feed", parse: FeedReader.Following.init(rawValue:)) ?? settings.following
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        settings.onReset =
            try environment.value(onReset, "on-reset", parse: ResetPolicy.init(rawValue:)) ?? settings.onReset
        settings.delivery = try job.deliverySettings(environment, isDaemon: !settings.isOneShot)
        if let path = job.common.summaryPath(environment) { try OutputFile.check(path) }
        let choice = try gateway.choice(environment)
        let place = StateLocation(choice: choice, directory: state.directory(environment), settings.name)
        let job = Job(
            options: job, gateway: gateway, environment: environment, logger: logger,
            ruleSet: try RuleSet.load(paths: paths), place: place, choice: choice, settings: settings.delivery,
            isOneShot: settings.isOneShot)
        try await job.run { [settings] parts in
            Bot(
                gateway: parts.gateway, ruleSet: parts.ruleSet, state: parts.state, settings: settings,
                report: parts.report, logger: parts.logger)
        }
    }

    private func startingPoint(_ environment: Environment) throws(CommandFailure) -> BotSettings.Start? {
        switch since ?? environment["since"] {
        case nil: return nil
        case "0": return .beginning
        case "now": return .now
        case let text?:
            guard let sequence = SequenceID(text) else { throw CommandFailure(.usage, "--since is empty") }
            return .sequence(sequence)
        }
    }
}

extension FeedReader.Following: ExpressibleByArgument {}
extension ResetPolicy: ExpressibleByArgument {}

/// Names of channels on the command line, with commas between them; a name can't hold one.
struct ChannelList: ExpressibleByArgument {
    let names: [String]

    init?(argument: String) {
        names = argument.split(separator: ",").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
        if names.isEmpty { return nil }
    }
}
