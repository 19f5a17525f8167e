internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Locking
internal import Logging
internal import Rules
internal import ServiceLifecycle

/// Applies some of a bot's rules to all documents while the bot runs. One pass at a time, because they share a state.
struct PassRunner: Sendable {
    /// Some of the rules, for all documents.
    struct Pass: Sendable {
        let rules: [String]
        let mode: Mode
        /// Receive the times of rules with `at:`. Nil: none are kept.
        var timers: DocumentTimers?
        let beginning: Logger.Message
        let end: Logger.Message
        let failure: Logger.Message
    }

    private let bot: Bot
    private let settings: PassSettings
    private let lock = TaskLock()

    /// Nil if the bot has no passes.
    init?(_ bot: Bot) {
        guard let settings = bot.settings.passes else { return nil }
        (self.bot, self.settings) = (bot, settings)
    }

    /// - Returns: Whether the pass has come to its end.
    /// - Throws: Why it has not, in a one-shot run. A daemon logs that.
    func run(_ pass: Pass) async throws -> Bool {
        try await lock.withLock {
            guard !Task.isAskedToStop else { return false }
            let rules: Logger.Metadata = [LogKey.rules: "\(pass.rules.joined(separator: ", "))"]
            bot.logger.notice(pass.beginning, metadata: rules)
            do {
                let result = try await apply(pass)
                bot.logger.notice(pass.end, metadata: rules.merging(result) { $1 })
                return !Task.isShuttingDownGracefully
            } catch {
                guard !Task.isCancelled, !(error is CancellationError) else { return false }
                if bot.settings.isOneShot { throw error }
                bot.logger.warning(pass.failure, metadata: rules.merging([LogKey.reason: "\(error)"]) { $1 })
                return false
            }
        }
    }

    /// - Returns: What it did, for the log.
    private func apply(_ pass: Pass) async throws -> Logger.Metadata {
        let ruleSet = try settings.rules.ruleSet(only: pass.rules)
        try settings.state.catalogue.check()
        var delivery = bot.settings.delivery
        delivery.stateOptions = settings.stateOptions
        // Counted and shown apart from the run.
        delivery.retries.observer = nil
        let report = RunReport()
        try await Fixer(
            gateway: bot.gateway, ruleSet: ruleSet, state: settings.state.with(ruleSetHash: ruleSet.hash),
            name: settings.state.catalogue.name, mode: pass.mode, settings: delivery, timers: pass.timers,
            report: report, logger: bot.logger
        ).run()
        try Task.checkCancellation()
        let counters = await report.counters()
        await bot.report.notePass(deadLetters: counters.deadLetters)
        return [
            "looked_at": "\(counters.changes)", "matched": "\(counters.matched)", "written": "\(counters.written)",
            LogKey.deadLetters: "\(counters.deadLetters)",
        ]
    }
}

extension PassRunner.Pass {
    /// Rules that are new or changed.
    static func changed(_ rules: [String], _ timers: DocumentTimers?) -> Self {
        Self(
            rules: rules, mode: .pass, timers: timers, beginning: "applying new and changed rules to all documents",
            end: "applied new and changed rules to all documents",
            failure: "new and changed rules could not be applied to all documents; the next start tries again")
    }

    /// Rules whose `time` has come; `began` is when the pass began. Both in seconds since 1970.
    static func scheduled(_ rules: ScheduledRules, began: Int, time: Int) -> Self {
        Self(
            rules: rules.names, mode: .scheduledPass(began: began, time: time),
            beginning: "applying rules to all documents: their time has come",
            end: "applied rules to all documents at their time",
            failure: "rules could not be applied to all documents at their time; trying again in a minute")
    }
}
