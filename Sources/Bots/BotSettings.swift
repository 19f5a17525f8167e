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
        /// Only what changes from now on.
        case now
        case sequence(SequenceID)
    }

    /// Which changes the bot reads, and how.
    package struct Feed: Sendable {
        /// Where to start if there is no checkpoint. Nil: the beginning.
        package var since: Start?
        /// How a daemon waits for changes.
        package var following = FeedReader.Following.longpoll
        /// Only these channels of a Sync Gateway. Nil: all that the user may see.
        package var channels: [String]?
    }

    /// How the bot takes part in a fleet, if its state is in an engine.
    package struct Membership: Sendable {
        /// Nil: one process of a fleet is active, and the others are on standby.
        package var sharing: Sharing?
        /// The log of those that share the work, if it is not in the engine: for tests.
        package var workLog: (any WorkLog)?
        /// Whether the times of rules are the engine's, and not those of ``Delivery/Settings/now``.
        package var takesEngineTime = true
        /// How long to wait for tables that vanished during the run, before they are recreated: an operator may be
        /// restoring a dump.
        package var lossDelay: Duration = .seconds(30)
    }

    /// Ends once the changes that the feed holds at the start are processed (`--once`).
    package var isOneShot = false
    /// The bot's name: part of the id of its `_local` document.
    package var name = "changebot"
    package var feed = Feed()
    /// The guard against loops. Nil: none.
    package var effectLimits: EffectLimits? = EffectLimits()
    /// What to do when the database was reset or restored. Nil: start again, unless the rules have effects outside the
    /// database, which would be repeated.
    package var onReset: ResetPolicy?
    /// The longest time between two checks of the mark in the database. After half of it, the next end of a request for
    /// the feed makes the run check, so that a run that only waits is not woken for that alone.
    package var checkInterval: Duration = DatabaseWatch.longestInterval
    /// The options with which `changebot fix` applies the rules to the same database, for the log. Nil: it is not
    /// advised.
    package var fixOptions: String?
    /// Nil: rules are applied to changes only.
    package var passes: PassSettings?
    package var fleet = Membership()
    /// ``Bot`` sets the pauses itself.
    package var delivery = Delivery.Settings()

    /// A daemon that starts at the beginning.
    package init() {}

    /// The rules that run over all documents at certain times.
    var schedules: [ScheduledRules] { passes?.rules.scheduled ?? [] }
    /// Whether new and changed rules are applied to all documents.
    var catchesUp: Bool { passes?.catchesUp == true && !delivery.isDryRun }
}

/// How a bot applies rules to all documents while it runs.
package struct PassSettings: Sendable {
    /// The files of the bot's rules. Those with `every` run at their times.
    let rules: RuleFileSet
    /// The state of all passes, apart from the bot's.
    let state: StatePlace
    /// The options by which commands find that state. Nil: none can.
    let stateOptions: String?
    /// Whether new and changed rules are applied, too (`--catch-up-changed-rules`).
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
