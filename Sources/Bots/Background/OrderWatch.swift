internal import BotState
internal import Locking

/// Notices orders of operators while the bot runs.
struct OrderWatch: Sendable {
    let ledger: Ledger
    /// What the bot has taken up.
    let taken: TakenOrders
    /// Raised when there may be a backfill to begin.
    let ordered: Signal
    /// Called once if rules were paused or resumed, which takes effect when the bot starts again. Nil: at the next start.
    let restart: (@Sendable () -> Void)?

    /// Returns once the bot must start again.
    ///
    /// - Throws: `CancellationError`.
    func run() async throws {
        var known = -1
        try await ledger.whileOrdered {
            // Other tasks notice whether the engine answers.
            guard let (last, rules) = try? await ledger.onSeparateThread(Self.read), last != known else { return true }
            if known >= 0 { ordered.raise() }
            known = last
            if let restart, taken.isOutdated(by: rules) {
                restart()
                return false
            }
            // Rules that were resumed and paused again before this was noticed: this run has left them out all the time.
            try? await ledger.notePaused(rules.filter { taken.paused.contains($0.name) }, from: nil)
            return true
        }
    }

    private static func read(_ ledger: Ledger) throws(StateError) -> (last: Int, rules: [PausedRule]) {
        (try ledger.lastOrder(), try ledger.pausedRules())
    }
}

/// The orders about rules that a bot has taken up.
struct TakenOrders: Sendable {
    /// The names of the rules that do not fire.
    let paused: Set<String>
    /// The orders to resume rules.
    let resumed: Set<Int>

    init(_ rules: [PausedRule] = []) {
        paused = Set(rules.filter(\.isPaused).map(\.name))
        resumed = Set(rules.filter { !$0.isPaused }.map(\.order))
    }

    /// Whether other rules must be left out or made up for. A rule that has made up for its changes is gone.
    func isOutdated(by rules: [PausedRule]) -> Bool {
        let current = TakenOrders(rules)
        return current.paused != paused || !current.resumed.isSubset(of: resumed)
    }

    func contains(_ rule: PausedRule) -> Bool {
        rule.isPaused ? paused.contains(rule.name) : resumed.contains(rule.order)
    }
}
