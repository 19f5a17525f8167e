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

    func run() async throws {
        do { try await start(Environment()) } catch { throw CommandFailure(error) }
    }

    private func start(_ environment: Environment) async throws {
        let logger = try log.logger(environment)
        let paths = try job.rulePaths(environment)
        var settings = BotSettings()
        settings.isOneShot = try environment.isOn(once, "once")
        settings.since = try startingPoint(environment)
        settings.delivery = try job.deliverySettings(environment, isDaemon: !settings.isOneShot)
        if let path = job.summaryPath(environment) { try OutputFile.check(path) }
        let choice = try gateway.choice(environment)
        let place = try StatePlace(choice: choice, directory: state.directory(environment), state.botName(environment))
        let job = Job(
            options: job, gateway: gateway, environment: environment, logger: logger,
            ruleSet: try RuleSet.load(paths: paths), place: place, choice: choice, settings: settings.delivery,
            isOneShot: settings.isOneShot)
        try await job.run { [settings] parts in
            Bot(
                gateway: parts.gateway, ruleSet: parts.ruleSet, ledger: parts.ledger, settings: settings,
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
