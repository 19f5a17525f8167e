internal import Delivery
internal import Logging
internal import Rules

/// What `fix` and `dead-letters retry` are told to do: one pass with rules and a gateway, beside the bot's checkpoint.
struct OneShotPlan {
    /// The name of the state, which begins with the prefix.
    let name: String
    let rules: RuleFileSet
    let place: StateLocation
    var settings: Delivery.Settings
    let environment: Environment
    let logger: Logger
    private let choice: GatewayChoice
    private let access: AccessOptions
    private let common: CommonJobOptions

    /// Reads the options and the rules. Blocks.
    ///
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ environment: Environment, namePrefix prefix: String = "", _ gateway: GatewayOptions, _ access: AccessOptions,
        _ state: StateOptions, _ job: JobOptions, _ common: CommonJobOptions, _ log: LogOptions
    ) throws {
        self.environment = environment
        self.access = access
        self.common = common
        let paths = try job.rulePaths(environment)
        logger = try log.logger(environment)
        settings = try job.deliverySettings(
            common, environment, memory: job.memoryPool(environment), isDaemon: false)
        choice = try gateway.choice(environment)
        name = prefix + (try state.botName(environment))
        let directory = state.directory(environment)
        rules = try job.loadRules(paths, common, access, choice, state: directory, environment, logger)
        place = StateLocation(
            choice: choice, directory: directory, name, engine: try state.engine(environment),
            reference: state.reference(environment, gateway: gateway.address, rules: job.rules))
    }

    /// The job that applies these rules.
    func job(_ ruleSet: RuleSet) -> Job {
        Job(
            options: common, access: access, environment: environment, logger: logger, ruleSetHash: ruleSet.hash,
            place: place, choice: choice, settings: settings, isOneShot: true)
    }
}
