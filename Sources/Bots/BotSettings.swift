internal import BotState
package import Delivery
package import DocumentFlow
package import Fleet
package import GatewayClient
package import Rules

/// The settings of `changebot run`. All defaults are set here and nowhere else.
package struct BotSettings: Sendable {
    /// Where a run without a checkpoint starts (`--since`).
    package enum Start: Sendable, Equatable {
        /// Everything: from the first change.
        case beginning
        /// Only later changes.
        case now
        case sequence(SequenceID)
    }

    /// Which changes the bot reads, and how.
    package struct Feed: Sendable {
        /// Where to start if there is no checkpoint. Nil: the beginning.
        package var since: Start?
        /// How a daemon waits for changes.
        package var following = FeedReader.FeedMode.longpoll
        /// Only these Sync Gateway channels. Nil: all channels that the user may read.
        package var channels: [String]?
    }

    /// How this process takes part in a fleet, if the state is in an engine.
    package struct Membership: Sendable {
        /// Nil: one process of a fleet is active, and the others are on standby.
        package var sharing: Sharing?
        /// The log of members that share the work, if it is not in the engine. For tests.
        package var workLog: (any WorkLog)?
        /// Whether rules use the engine's clock instead of ``Delivery/Settings/now``.
        package var usesEngineTime = true
        /// How long to wait before tables that vanished during the run are recreated: an operator may be restoring a
        /// dump.
        package var lossDelay: Duration = .seconds(30)
    }

    /// Whether the run ends once it has processed the changes that the feed holds at the start (`--once`).
    package var isOneShot = false
    /// The bot's name: part of the id of its `_local` document.
    package var name = "changebot"
    package var feed = Feed()
    /// The limits that stop loops of rules. Nil: none.
    package var effectLimits: EffectLimits? = EffectLimits()
    /// What to do when the database was reset or restored. Nil: start again, unless the rules have effects outside the
    /// database, which would be repeated.
    package var onReset: ResetPolicy?
    /// The longest time between two checks of the mark in the database. Once half of it has passed, the run checks as
    /// soon as a feed request ends, so an idle run need not wake up only for the check.
    package var checkInterval: Duration = DatabaseResetDetector.maxInterval
    /// The options for running `changebot fix` with these rules on the same database, for advice in the log. Nil: the
    /// log does not recommend it.
    package var fixOptions: String?
    /// Nil: rules are applied to changes only.
    package var passes: PassSettings?
    package var fleet = Membership()
    /// Called when rules were paused or resumed: the caller must then stop the bot and start it again. Nil: such orders
    /// take effect at the next start.
    package var restart: (@Sendable () -> Void)?
    /// ``Bot`` sets the pauses itself.
    package var delivery = Delivery.Settings()

    /// A daemon that starts at the beginning.
    package init() {}

    /// The rules that run over all documents on a schedule.
    var schedules: [ScheduledRules] { passes?.rules.scheduled ?? [] }
    /// The names of all rules of a bot, those with `every` last.
    func knownRules(_ ruleSet: RuleSet) -> KnownRuleNames {
        KnownRuleNames(
            all: ruleSet.names + schedules.flatMap(\.names), counting: Set(ruleSet.aggregates.map(\.name)),
            following: Set(ruleSet.comparing.map(\.name) + ruleSet.conflictRules))
    }
    /// ``onReset``, or its default for these rules.
    func resetPolicy(for ruleSet: RuleSet) -> ResetPolicy { onReset ?? (ruleSet.actsOutside ? .stop : .restart) }
    /// Whether new and changed rules are applied to all documents.
    var catchesUp: Bool { passes?.catchesUp == true && !delivery.isDryRun }
}

/// How a bot applies rules to all documents while it runs.
package struct PassSettings: Sendable {
    /// The bot's rule files. Those with `every` run on schedule.
    let rules: RuleFileSet
    /// The state of all passes, separate from the bot's.
    let state: StatePlace
    /// The command-line options that select that state. Nil: no command can open it.
    let stateOptions: String?
    /// Whether passes also apply new and changed rules (`--catch-up-changed-rules`).
    let catchesUp: Bool

    package init(rules: RuleFileSet, state: StatePlace, stateOptions: String?, catchesUp: Bool) {
        (self.rules, self.state, self.stateOptions, self.catchesUp) = (rules, state, stateOptions, catchesUp)
    }
}

/// What to do when the database was reset or restored (`--on-reset`).
package enum ResetPolicy: String, Sendable, CaseIterable {
    /// Start again at the beginning.
    case restart
    /// End the run with exit code 78.
    case stop
}
