package import BotState
internal import Delivery
internal import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
package import Rules
internal import ServiceLifecycle

/// `changebot run` on many databases: follows all of them, but works only on those that have changed.
///
/// Each database has its own state, so the guarantees of a ``Bot`` hold for each. A database that can't be used is
/// named in the log and tried again later; the others continue.
package struct DatabaseGroup: Service {
    /// The states of one database.
    package struct Place: Sendable {
        /// The bot's state.
        let state: StatePlace
        /// The state of its passes over all documents. Nil: rules are applied to changes only.
        let passes: PassSettings?
        /// The command-line options that select the state. Nil: no command can open it.
        let options: String?

        package init(state: StatePlace, passes: PassSettings?, options: String?) {
            (self.state, self.passes, self.options) = (state, passes, options)
        }
    }

    /// The settings of a group. All defaults are set here and nowhere else.
    package struct Settings: Sendable {
        /// The most databases that are worked on at the same time. More would need more memory and connections, and would
        /// not be faster.
        package var maxActive = 8
        /// The same for collections without a fleet. As many stay open, because Sync Gateway does not announce which of
        /// them have changed.
        package static let maxActiveCollections = 16
        /// When a database is looked at again that another member of the fleet works on, or that was missing.
        var lookAgain: Duration = .seconds(5)
        /// How long after its first failure a database is tried again; doubled with each further one, at most 15 minutes.
        var firstRetry: Duration = .seconds(15)
        var session = DatabaseSession.Limits()
        var watch = DatabaseWatch.Intervals()
        /// How long the state of a missing database is kept.
        var keptWhileMissing = 86_400
        /// Concurrent `_bulk_docs` requests of one database.
        var writers = 2
        /// Documents in the pipeline of one database.
        var documents = 250
        /// Called when no database is open any more and none waits for its turn, each time.
        package var whenQuiet: @Sendable () -> Void = {}

        package init() {}
    }

    let directory: any DatabaseDirectory
    let patterns: DatabasePatterns
    let ruleSet: RuleSet
    let index: DatabaseIndex
    /// The settings of each bot.
    let bot: BotSettings
    let settings: Settings
    let report: RunReport
    let totals: DatabaseTotals
    let logger: Logger
    let place: @Sendable (_ name: String, _ address: String) throws -> Place

    /// - Parameters:
    ///   - directory: The databases of the server.
    ///   - patterns: Selects databases.
    ///   - index: Open while the group runs.
    ///   - bot: The settings of the bots. Its observer is told the events of all databases.
    ///   - place: The place of a database's state, by its name and address.
    package init(
        directory: any DatabaseDirectory, patterns: DatabasePatterns, ruleSet: RuleSet, index: DatabaseIndex,
        bot: BotSettings, settings: Settings = Settings(), report: RunReport, logger: Logger,
        place: @escaping @Sendable (_ name: String, _ address: String) throws -> Place
    ) {
        (self.directory, self.patterns, self.ruleSet, self.index) = (directory, patterns, ruleSet, index)
        (self.bot, self.settings, self.report, self.logger, self.place) = (bot, settings, report, logger, place)
        totals = DatabaseTotals(outage: bot.delivery.retries.outage)
    }

    /// Returns at the end of a one-shot run, or after a graceful shutdown.
    ///
    /// - Throws: `RunError` or ``StateError``.
    package func run() async throws {
        ruleSet.prepare()
        await report.watch(totals)
        let run = DatabaseGroupRun(self, entries: try index.allWithStates())
        try await withGracefulShutdownHandler {
            try await run.run()
        } onGracefulShutdown: {
            run.stop()
        }
    }

    /// Whether a database is followed. Names that can't be part of a URL are not.
    func selects(_ name: String) -> Bool { patterns.matches(name) && (try? directory.gateway(name)) != nil }

    /// A bot for one database.
    func makeBot(_ session: DatabaseSession) throws -> Bot {
        let name = session.name
        let gateway = try directory.gateway(name)
        let place = try place(name, "\(gateway.url)")
        var logger = logger
        logger[metadataKey: LogKey.database] = "\(name)"
        // Of each database, only what an operator must know.
        if logger.logLevel == .info { logger.logLevel = .notice }
        var settings = bot
        settings.delivery.retries = bot.delivery.retries.ofOtherRun(observer: session)
        settings.delivery.retries.waitsForMissingDatabase = false
        settings.delivery.stateOptions = place.options
        settings.delivery.capacity.writers = min(settings.delivery.capacity.writers, self.settings.writers)
        settings.delivery.capacity.documents = min(settings.delivery.capacity.documents, self.settings.documents)
        settings.passes = place.passes
        settings.fixOptions = nil
        // The session begins again, with the orders.
        settings.restart = { session.stop() }
        // A database that was seen to be deleted is new: nothing is repeated.
        if session.isRecreated { settings.onReset = .restart }
        return Bot(
            gateway: gateway, ruleSet: ruleSet, state: place.state, settings: settings, report: RunReport(),
            logger: logger)
    }
}
