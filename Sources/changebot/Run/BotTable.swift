/// Decides which bots of a process start, stop and get new rules: event in, actions out, no I/O.
struct BotTable {
    /// The facts about a bot that matter here.
    struct Bot: Equatable {
        let name: String
        /// The settings that require a restart if they change.
        let signature: [String: [String]]
        let rulesHash: String
        /// The file of its embedded gateway, which only one bot at a time can have; nil if it has none.
        var file: String?
    }

    enum Action: Equatable {
        case start(String)
        /// Ask it to stop; ``ended(_:failed:isShuttingDown:)`` follows.
        case stop(String)
        case replaceRules(String)
        /// Remove it from the status page.
        case hide(String)
        /// Log why it has ended.
        case report(String)
    }

    private struct Running {
        var bot: Bot
        var isStopping = false
        var isHidden = false
    }

    private let policy: BotFailurePolicy
    /// The bots of the latest configuration, in order.
    private var wanted: [Bot]
    private var running: [String: Running] = [:]
    /// The bots that start once no other bot uses their embedded gateway's file.
    private var waiting: Set<String> = []
    /// The bots that failed and were not restarted, in the order in which they ended.
    private(set) var failed: [String] = []
    /// Whether all bots must end, because one failed and the policy is to stop.
    private var isEnding = false

    init(_ bots: [Bot], policy: BotFailurePolicy) {
        wanted = bots
        self.policy = policy
    }

    /// Whether no bot is running any more.
    var isDone: Bool { running.isEmpty }
    /// Whether there are several bots, so log lines must name the bot.
    var hasSeveral: Bool { wanted.count > 1 }

    /// Starts all bots.
    mutating func begin() -> [Action] { wanted.map { start($0) } }

    private mutating func start(_ bot: Bot) -> Action {
        running[bot.name] = Running(bot: bot)
        failed.removeAll { $0 == bot.name }
        return .start(bot.name)
    }

    /// Replaces the configured bots.
    ///
    /// - Parameter isShuttingDown: Whether the process was asked to stop. If so, nothing changes.
    mutating func reload(_ bots: [Bot], isShuttingDown: Bool) -> [Action] {
        guard !isShuttingDown, !isEnding else { return [] }
        wanted = bots
        // Forget failures of bots that were removed.
        let isGone = { (name: String) in !bots.contains { $0.name == name } }
        var actions = failed.filter(isGone).map { Action.hide($0) }
        failed.removeAll(where: isGone)
        for name in running.keys.sorted() {
            guard let present = running[name] else { continue }
            guard let next = bots.first(where: { $0.name == name }) else {
                if !present.isHidden { actions.append(.hide(name)) }
                running[name]?.isHidden = true
                actions += stop(name)
                continue
            }
            // A bot that is stopping is restarted once it has ended.
            if present.isStopping { continue }
            if next.signature != present.bot.signature {
                actions += stop(name)
            } else if next.rulesHash != present.bot.rulesHash {
                running[name]?.bot = next
                actions.append(.replaceRules(name))
            }
        }
        waiting = Set(bots.map(\.name).filter { running[$0] == nil })
        return actions + startWaiting()
    }

    private mutating func startWaiting() -> [Action] {
        var actions: [Action] = []
        for bot in wanted where waiting.contains(bot.name) && running[bot.name] == nil {
            let isHeld = bot.file != nil && running.values.contains { $0.bot.file == bot.file }
            if isHeld { continue }
            waiting.remove(bot.name)
            actions.append(start(bot))
        }
        return actions
    }

    private mutating func stop(_ name: String) -> [Action] {
        guard running[name]?.isStopping == false else { return [] }
        running[name]?.isStopping = true
        return [.stop(name)]
    }

    /// Notes that a bot has ended, by itself or because it was asked to stop.
    ///
    /// - Parameter isShuttingDown: Whether the process was asked to stop.
    mutating func ended(_ name: String, failed hasFailed: Bool, isShuttingDown: Bool) -> [Action] {
        let former = running.removeValue(forKey: name)
        let wasStopping = former?.isStopping == true
        let isWanted = wanted.contains { $0.name == name }
        var actions: [Action] = []
        if hasFailed {
            if isWanted { failed.append(name) }
            if hasSeveral || wasStopping { actions.append(.report(name)) }
            if isWanted, !wasStopping, policy == .stop { isEnding = true }
        }
        if isEnding { return actions + running.keys.sorted().flatMap { stop($0) } }
        if wasStopping, isWanted { waiting.insert(name) }
        // Its final report has made it visible again.
        if former?.isHidden == true, !isWanted { actions.append(.hide(name)) }
        return isShuttingDown ? actions : actions + startWaiting()
    }
}
