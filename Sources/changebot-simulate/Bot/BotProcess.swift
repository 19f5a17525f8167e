internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules
internal import ServiceLifecycle

/// One process of the bot: the code of `changebot run`, from the connection to the gateway to the state on the disk.
final class BotProcess: @unchecked Sendable {
    let number: Scheduler.Owner
    /// Where its state is.
    let directory: String
    private unowned let world: World
    /// Nil while it runs, otherwise why it has ended.
    private(set) var ending: String?
    private(set) var state: StateCheck?
    private(set) var connection: Connection?
    private var group: ServiceGroup?
    private(set) var isStopping = false
    private var hasNewRules = false
    /// Whether it has read the feed.
    private(set) var hasFollowed = false
    /// How long a stop may take.
    private static let grace: Duration = .seconds(30)

    init(_ world: World, number: Scheduler.Owner, directory: String) {
        (self.world, self.number, self.directory) = (world, number, directory)
    }

    /// Begins to run. Its work is done by the scheduler.
    func start(seed: UInt64) {
        world.story.tell("bot \(number)", "starts")
        let connection = Connection(world, of: number, seed: seed)
        self.connection = connection
        world.scheduler.acting(as: number) {
            Task {
                do {
                    try await run(connection)
                    note(ending: "it returned")
                } catch { note(ending: "\(error)") }
            }
        }
    }

    /// Runs a bot for each version of the rules, as `changebot run` does.
    private func run(_ connection: Connection) async throws {
        let report = RunReport()
        repeat {
            hasNewRules = false
            let group = try group(bot(connection, report))
            self.group = group
            try await group.run()
            await report.reconnect()
        } while hasNewRules && !isStopping
    }

    private func group(_ bot: Bot) -> ServiceGroup {
        var logger = Logger(label: "services") { [world] in StoryLog(world.story, $0) }
        logger.logLevel = .error
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: bot, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup)
            ], gracefulShutdownSignals: [], logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.grace
        return ServiceGroup(configuration: configuration)
    }

    private func shutDown() {
        guard let group, world.breakage != .ignoredStop else { return }
        world.scheduler.acting(as: number) { Task { await group.triggerGracefulShutdown() } }
    }

    func noteFeed() { hasFollowed = true }

    /// As SIGTERM does.
    func stop() {
        guard ending == nil, !isStopping, group != nil else { return }
        world.faults.note(.gracefulStop)
        world.story.tell("world", "asks bot \(number) to stop")
        isStopping = true
        shutDown()
        world.scheduler.after(Self.grace + .seconds(5)) { [self] in
            world.checking {
                guard ending == nil else { return }
                throw Violation(guarantee: .running, detail: "bot \(number) was asked to stop, and has not stopped")
            }
        }
    }

    /// As SIGHUP does, after the rule file was replaced.
    func reload() {
        guard ending == nil else { return }
        hasNewRules = true
        shutDown()
    }

    private func bot(_ connection: Connection, _ report: RunReport) throws -> Bot {
        let ruleSet = try World.loadRules()
        var gateway = GatewaySettings()
        gateway.process.carrier = connection
        gateway.compressesRequests = .never
        // As a password file, which is read again.
        gateway.credentialsSource = { [self] in .basic(user: "bot", password: world.operations.passwords.bot) }
        var settings = BotSettings()
        settings.delivery.retries.isDaemon = true
        settings.onReset = .restart
        settings.delivery.retries.waitsForFirstContact = true
        settings.delivery.outside.carrier = connection
        if world.breakage == .fastClock { settings.delivery.now = { [self] in world.scheduler.wallSeconds + 120 } }
        // Not the default of rules with webhooks.
        settings.onReset = .restart
        var logger = Logger(label: "bot \(number)") { [world] in StoryLog(world.story, $0) }
        logger.logLevel = .info
        let address = World.gatewayBase + "/" + World.databaseName
        return Bot(
            gateway: Gateway(try GatewayURL(address), settings: gateway), ruleSet: ruleSet,
            state: StatePlace(
                StateCatalogue(directory: directory, name: "bot"), address: address, ruleSetHash: ruleSet.hash,
                purpose: .run), settings: settings, report: report, logger: logger)
    }

    private func note(ending: String) {
        world.story.tell("bot \(number)", "ends: \(ending)")
        self.ending = ending
    }

    /// Call once its work is dropped.
    ///
    /// - Parameter fault: Nil if it has ended on its own.
    func noteEnd(_ fault: FaultKind?) {
        ending = fault?.rawValue ?? ending
        (state, connection, group) = (nil, nil, nil)
    }

    /// Opens the state next to the bot, once there is one.
    func openState() -> StateCheck? {
        if state == nil {
            do { state = try StateCheck(directory: directory) } catch { world.story.tell("state", "\(error)") }
        }
        return state
    }
}

/// Writes the bot's log into the story.
private struct StoryLog: LogHandler, @unchecked Sendable {
    private let story: Story
    private let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(_ story: Story, _ label: String) { (self.story, self.label) = (story, label) }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
        let details = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        story.tell(label, "\(event.level): \(event.message)\(details)")
    }
}
