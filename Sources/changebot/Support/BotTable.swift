/// Decides which bots of a process start, stop and get new rules: event in, actions out, no I/O.
struct BotTable {
    /// A bot, as far as it matters here.
    struct Bot: Equatable {
        let name: String
        /// What it must be started anew for, if it changes.
        let signature: [String: [String]]
        let rulesHash: String
    }

    enum Action: Equatable {
        case start(String)
        /// Ask it to stop; ``ended(_:failed:)`` follows.
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
        var actions: [Action] = []
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
        for bot in bots where running[bot.name] == nil { actions.append(start(bot)) }
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
        let wasStopping = running.removeValue(forKey: name)?.isStopping == true
        var actions: [Action] = []
        if hasFailed {
            failed.append(name)
            if hasSeveral || wasStopping { actions.append(.report(name)) }
            if policy == .stop { isEnding = true }
        }
        if isEnding { return actions + running.keys.sorted().flatMap { stop($0) } }
        if wasStopping, !isShuttingDown, let next = wanted.first(where: { $0.name == name }) {
            actions.append(start(next))
        }
        return actions
    }
}
