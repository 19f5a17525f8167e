internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import Fleet
internal import Foundation
internal import GatewayClient
internal import Logging
internal import Rules
internal import ServiceLifecycle
internal import TestKit

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
    /// Nil: it works alone.
    private(set) var engine: EngineConnection?
    /// The room that documents take.
    private(set) var memory = Delivery.Settings().capacity.memory
    private var limits = RequestLimits()
    private var intervals = Delivery.Settings().intervals
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
        if world.extent == .full { limitSizes(seed: seed) }
        let connection = Connection(world, of: number, seed: seed)
        self.connection = connection
        engine = world.fleet.engine.map { EngineConnection(world, $0, of: number) }
        world.scheduler.acting(as: number) {
            Task {
                do {
                    try await run(connection)
                    note(ending: "it returned")
                } catch { note(ending: "\(error)") }
            }
        }
    }

    /// Often so that requests have few documents, and that few documents fit in memory: then batches are divided.
    private func limitSizes(seed: UInt64) {
        var numbers = SplitMix64(seed: ~seed)
        if numbers.chance(2) { limits.documents = 1 + numbers.below(5) }
        if numbers.chance(2) { limits.bytes = 500 + numbers.below(4_000) }
        if numbers.chance(2) {
            // A checkpoint follows each finished change.
            (intervals.checkpoint, intervals.followingCheckpoint) = (.zero, .zero)
        }
        if numbers.chance(2) { memory = MemoryPool(bytes: 10_000 + numbers.below(100_000)) }
    }

    /// Runs a bot for each version of the rules, as `changebot run` does.
    private func run(_ connection: Connection) async throws {
        let report = RunReport()
        repeat {
            hasNewRules = false
            world.checks.events.noteOtherRules(at: world.scheduler.uptime)
            world.checks.edges.noteRestart()
            do {
                engine?.allowCalls()
                try await engine?.log.join()
                let group = try group(bot(connection, report))
                self.group = group
                try await group.run()
            } catch let error where mayRetry(after: error) { try await waitForTurn(after: error) }
            await report.reconnect()
        } while hasNewRules && !isStopping
    }

    /// Whether a member of a fleet takes part again, as `Standby` decides.
    private func mayRetry(after error: any Error) -> Bool {
        guard engine != nil else { return false }
        return switch error {
        case StateError.locked, StateError.fenced, StateError.engineUnavailable, is WorkLogError: true
        default: false
        }
    }

    /// Leaves the fleet, as `Bot` does after an error, and waits as `Standby` does.
    private func waitForTurn(after error: any Error) async throws {
        world.story.tell("bot \(number)", "leaves the fleet: \(error)")
        do { try await engine?.log.leave() } catch {}
        try await Task.sleep(for: .seconds(1))
        hasNewRules = true
    }

    private func group(_ bot: Bot) -> ServiceGroup {
        var logger = Logger(label: "services") { [world] in StoryLog(world.story, $0) }
        logger.logLevel = .error
        var configuration = ServiceGroupConfiguration(
            services: [
                .init(
                    service: BotService(bot: bot, engine: engine), successTerminationBehavior: .gracefullyShutdownGroup,
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
        checkStop()
    }

    /// It must stop soon, not counting the time for which it was suspended.
    private func checkStop() {
        let limit = Self.grace + .seconds(5)
        world.scheduler.after(limit) { [self] in
            guard ending == nil else { return }
            guard !world.scheduler.wasSuspended(number, within: limit) else { return checkStop() }
            world.checking {
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
        let (files, ruleSet) = try World.loadRules(world.extent)
        var gateway = GatewaySettings()
        gateway.process.carrier = connection
        gateway.compressesRequests = .never
        // As a password file, which is read again.
        gateway.credentialsSource = { [self] in .basic(user: "bot", password: world.operations.passwords.bot) }
        var settings = BotSettings()
        settings.delivery.capacity.memory = memory
        settings.delivery.limits = limits
        settings.delivery.intervals = intervals
        settings.delivery.retries.isDaemon = true
        settings.onReset = .restart
        settings.delivery.retries.waitsForFirstContact = true
        settings.delivery.outside.carrier = connection
        if world.breakage == .fastClock { settings.delivery.now = { [self] in world.scheduler.wallSeconds + 120 } }
        // Not the default of rules with webhooks.
        settings.onReset = .restart
        if let engine {
            settings.fleet.sharing = Sharing(role: .auto, partitions: engine.engine.log.partitions)
            settings.fleet.workLog = engine.log
            if world.breakage != .ignoredEngineClock { settings.delivery.now = { engine.clock.now() } }
        }
        var logger = Logger(label: "bot \(number)") { [world] in StoryLog(world.story, $0) }
        logger.logLevel = .info
        let address = World.gatewayBase + "/" + World.databaseName
        if world.extent == .full {
            settings.passes = PassSettings(
                rules: files,
                state: StatePlace(
                    StateCatalogue(directory: directory, name: "fix-bot"), address: address, ruleSetHash: "",
                    purpose: .run), stateOptions: nil, catchesUp: false)
        }
        return Bot(
            gateway: Gateway(try GatewayURL(address), settings: gateway), ruleSet: ruleSet,
            state: StatePlace(
                engine.map { StateCatalogue(directory: directory, name: "bot", $0.state) }
                    ?? StateCatalogue(directory: directory, name: "bot"),
                address: address, ruleSetHash: ruleSet.hash, purpose: .run), settings: settings, report: report,
            logger: logger)
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
        (state, connection, group, engine) = (nil, nil, nil, nil)
    }

    /// Opens the state next to the bot, once there is one.
    func openState() -> StateCheck? {
        if state == nil {
            do { state = try StateCheck(directory: directory) } catch { world.story.tell("state", "\(error)") }
        }
        return state
    }
}

/// As `Bot` does with PostgreSQL: calls to the engine end soon after the bot is cancelled.
private struct BotService: Service {
    let bot: Bot
    let engine: EngineConnection?

    func run() async throws {
        try await withTaskCancellationHandler {
            try await bot.run()
        } onCancel: {
            engine?.abort()
        }
    }
}

/// Writes the bot's log into the story.
private struct StoryLog: LogHandler, @unchecked Sendable {
    private let story: Story
    private let label: String
    private let folder = FileManager.default.currentDirectoryPath + "/"
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
        // The name of the folder differs in each run.
        story.tell(label, "\(event.level): \(event.message)\(details)".replacing(folder, with: ""))
    }
}
