internal import GatewayClient

/// What one simulation depends on: nothing else.
struct SimulationSettings {
    var seed: UInt64
    var dialect: GatewayDialect
    /// The step at which it ends.
    var steps: Int
    var faults = TroubleRates.all
    /// How many documents users write.
    var documents = 40
    /// How often users act at most; nil: again and again.
    var actions: Int?
    /// How many processes share the work; 1: a bot alone, without an engine.
    var members = 1
    var breakage: Breakage?
    /// Which rules a bot alone has.
    var extent = Scenario.Extent.full
    /// Which rules the bot has.
    var rules: Scenario.Extent { members > 1 && extent == .full ? .shared : extent }
    /// Whether each event is printed.
    var showsStory = false

    /// The options of the command that runs it.
    var options: [String] {
        let defaults = SimulationSettings(seed: seed, dialect: dialect, steps: steps)
        var options = ["--seed", String(seed), "--gateway", dialect.rawValue]
        if faults != defaults.faults { options += ["--faults", faults.text] }
        if documents != defaults.documents { options += ["--documents", String(documents)] }
        if members != defaults.members { options += ["--members", String(members)] }
        if let actions { options += ["--actions", String(actions)] }
        if let breakage { options += ["--break", breakage.rawValue] }
        if extent != defaults.extent { options += ["--rules", extent.rawValue] }
        return options
    }

    /// The command that repeats it up to a step.
    func replay(until step: Int) -> String {
        (["changebot-simulate"] + options + ["--until", String(step)]).joined(separator: " ")
    }
}
