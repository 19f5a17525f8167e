/// Decides which bots of a process start, stop and get new rules: event in, actions out, no I/O.
struct BotTable {
    /// A bot, as far as it matters here.
    struct Bot: Equatable {
        let name: String
        /// What it must be restarted for, if it changes.
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
        /// Forget what is shown of it.
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
    /// As configured last, in order.
    private var wanted: [Bot]
    private var running: [String: Running] = [:]
    /// The bots that start when their state file is free.
    private var waiting: Set<String> = []
    /// The bots that have failed and were not started again, in the order in which they ended.
    private(set) var failed: [String] = []
    /// Whether all bots are to end: one failed, and the policy is to stop.
    private var isEnding = false

    init(_ bots: [Bot], policy: BotFailurePolicy) {
        wanted = bots
        self.policy = policy
    }

    /// Whether no bot runs any more.
    var isDone: Bool { running.isEmpty }
    /// Whether log lines must say which bot they are about.
    var hasSeveral: Bool { wanted.count > 1 }

    /// The beginning.
    mutating func begin() -> [Action] { wanted.map { start($0) } }

    private mutating func start(_ bot: Bot) -> Action {
        running[bot.name] = Running(bot: bot)
        failed.removeAll { $0 == bot.name }
        return .start(bot.name)
    }

    /// These are the bots from now on.
    ///
    /// - Parameter isShuttingDown: Whether the process was asked to stop. Then nothing changes.
    mutating func reload(_ bots: [Bot], isShuttingDown: Bool) -> [Action] {
        guard !isShuttingDown, !isEnding else { return [] }
        wanted = bots
        // What is gone need not be known as failed.
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
            // A bot that is stopping is started again once it has ended.
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

    /// A bot has ended, by itself or because it was asked to.
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
        // Its last words have brought it back.
        if former?.isHidden == true, !isWanted { actions.append(.hide(name)) }
        return isShuttingDown ? actions : actions + startWaiting()
    }
}
