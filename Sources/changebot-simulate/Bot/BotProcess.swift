internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

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
                    try await bot(connection).run()
                    note(ending: "it returned")
                } catch { note(ending: "\(error)") }
            }
        }
    }

    private func bot(_ connection: Connection) throws -> Bot {
        let ruleSet = try RuleSet.load(paths: [World.rulesFile])
        var gateway = GatewaySettings()
        gateway.carrier = connection
        gateway.compressesRequests = .never
        var settings = BotSettings()
        settings.delivery.retries.isDaemon = true
        settings.delivery.retries.waitsForFirstContact = true
        settings.delivery.outside.carrier = connection
        var logger = Logger(label: "bot \(number)") { [world] in StoryLog(world.story, $0) }
        logger.logLevel = .info
        let address = World.gatewayBase + "/" + World.databaseName
        return Bot(
            gateway: Gateway(try GatewayURL(address), settings: gateway), ruleSet: ruleSet,
            state: StatePlace(
                StateCatalogue(directory: directory, name: "bot"), address: address, ruleSetHash: ruleSet.hash,
                purpose: .run), settings: settings, report: RunReport(), logger: logger)
    }

    private func note(ending: String) {
        world.story.tell("bot \(number)", "ends: \(ending)")
        self.ending = ending
    }

    /// Call once its work is dropped.
    func noteKill(_ fault: FaultKind) {
        ending = fault.rawValue
        (state, connection) = (nil, nil)
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
