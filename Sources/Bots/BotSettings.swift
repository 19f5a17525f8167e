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

    /// Ends once the changes that the feed holds at the start are processed (`--once`).
    package var isOneShot = false
    /// Where to start if there is no checkpoint. Nil: the beginning.
    package var since: Start?
    /// The bot's name: part of the id of its `_local` document.
    package var name = "changebot"
    /// How a daemon waits for changes.
    package var following = FeedReader.Following.longpoll
    /// Only these channels of a Sync Gateway. Nil: all that the user may see.
    package var channels: [String]?
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
    /// Applies rules that are new or changed to all documents, while the run goes on
    /// (`--catch-up-changed-rules`). Gets the rules' names and the timers for their times, and returns whether it has come
    /// to its end. A one-shot run waits for it, and ends with what it throws; a daemon goes on. Nil: rules are for changes
    /// from now on.
    package var catchUp: (@Sendable ([String], DocumentTimers?) async throws -> Bool)?
    /// Rules that run over all documents at certain times.
    package var schedules: [ScheduledRules] = []
    /// Applies scheduled rules to all documents, while the run goes on. Gets them, the time at which the pass began, and
    /// the time for which it runs, both in seconds since 1970, and returns whether it has come to its end. Throws in a
    /// one-shot run only. Nil: they do not run.
    package var pass: (@Sendable (_ rules: ScheduledRules, _ began: Int, _ time: Int) async throws -> Bool)?
    /// Nil: one process of a fleet is active, and the others are on standby.
    package var sharing: Sharing?
    /// The log of those that share the work, if it is not in the engine: for tests.
    package var workLog: (any WorkLog)?
    /// Whether the times of rules are the engine's, if there is one, and not those of ``Delivery/Settings/now``.
    package var takesEngineTime = true
    /// How long a process of a fleet waits for tables that vanished while it ran, before it recreates them: an operator may be
    /// restoring a dump.
    package var engineLossDelay: Duration = .seconds(30)
    /// ``Bot`` sets the pauses itself.
    package var delivery = Delivery.Settings()

    /// A daemon that starts at the beginning.
    package init() {}
}

/// What to do when the database was reset or restored (`--on-reset`).
package enum ResetPolicy: String, Sendable, CaseIterable {
    /// Start again at the beginning.
    case restart
    /// End the run with exit code 78.
    case stop
}
