internal import Delivery
internal import Logging
internal import Monitoring

/// The settings of the whole process, which can't change while it runs.
struct ProcessPlan: Sendable {
    let monitored: MonitoredProcess
    /// Nil: the process is not a systemd service, or ends by itself.
    let notifier: ServiceNotifier?
    let http: HTTPOptions.Choice?
    let memory: MemoryPool
    let grace: Duration
    let onBotFailure: BotFailurePolicy
    let isOneShot: Bool
    /// Whether to reload rules and configuration when their files change.
    let watchesFiles: Bool
    let logger: Logger
    /// The settings in the configuration file at the start, by the names of keys.
    let settings: [String: ConfigurationFile.Setting]

    /// - Parameter former: The current plan of this process, if this is a reload.
    /// - Throws: ``CommandError``.
    init(
        _ command: RunCommand, _ environment: Environment, _ file: ConfigurationFile?, _ notifier: ServiceNotifier?,
        continuing former: ProcessPlan?
    ) throws(CommandError) {
        isOneShot = try environment.isOn(command.once, "once")
        self.notifier = isOneShot ? nil : former?.notifier ?? notifier
        logger = try command.log.logger(environment, isDaemon: !isOneShot)
        http = try command.http.choice(environment)
        grace = try command.common.grace(environment)
        _ = try command.common.style(environment, of: .standardError)
        watchesFiles = try environment.isOn(command.following.watch, "watch")
        onBotFailure =
            try environment.value(
                command.following.onBotFailure, "on-bot-failure", parse: BotFailurePolicy.init(rawValue:))
            ?? .default
        let memory = try command.job.memoryPool(environment)
        self.memory = former?.memory ?? memory
        monitored = former?.monitored ?? MonitoredProcess(version: Changebot.version)
        settings = file?.processSettings ?? [:]
    }
}

/// What to do with the other bots of a process when one fails (`--on-bot-failure`).
enum BotFailurePolicy: String, CaseIterable {
    case `continue`, stop

    static let `default` = BotFailurePolicy.continue
}
