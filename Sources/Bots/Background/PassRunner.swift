internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Locking
internal import Logging
internal import Rules
internal import ServiceLifecycle

/// Applies some of a bot's rules to all documents while the bot runs. Passes share a state, so only one runs at a time.
struct PassRunner: Sendable {
    /// Which rules to apply to all documents, and how to log it.
    struct Pass: Sendable {
        let rules: [String]
        let mode: Mode
        /// Where timers of rules with `at:` are recorded. Nil: they are not.
        var timers: DocumentTimers?
        /// Where a learning pass stores what rules see.
        var lastSeen: LastSeenDocuments?
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

    /// - Returns: Whether the pass was completed.
    /// - Throws: In a one-shot run, the error that ended the pass. A daemon logs it instead.
    func run(_ pass: Pass) async throws -> Bool {
        try await lock.withLock {
            guard !Task.isAskedToStop else { return false }
            let rules: Logger.Metadata = [LogKey.rules: "\(pass.rules.joined(separator: ", "))"]
            bot.logger.notice(pass.beginning, metadata: rules)
            do {
                let result = try await applyAndShow(pass)
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

    /// The same as ``apply(_:)``. The report shows that the rules are learning.
    private func applyAndShow(_ pass: Pass) async throws -> Logger.Metadata {
        guard pass.mode.onlyLearns else { return try await apply(pass) }
        await bot.report.note(learning: pass.rules)
        do {
            let result = try await apply(pass)
            await bot.report.note(learning: [])
            return result
        } catch {
            await bot.report.note(learning: [])
            throw error
        }
    }

    /// - Returns: What it did, for the log.
    private func apply(_ pass: Pass) async throws -> Logger.Metadata {
        let ruleSet = try settings.rules.ruleSet(only: pass.rules)
        try settings.state.catalogue.check()
        var delivery = bot.settings.delivery
        delivery.stateOptions = settings.stateOptions
        // A pass is counted and shown separately from the run.
        delivery.retries.observer = nil
        let report = RunReport()
        try await Fixer(
            gateway: bot.gateway, ruleSet: ruleSet, state: settings.state.with(ruleSetHash: ruleSet.hash),
            name: settings.state.catalogue.name, mode: pass.mode, settings: delivery, timers: pass.timers,
            lastSeen: pass.lastSeen, report: report, logger: bot.logger
        ).run()
        try Task.checkCancellation()
        let counters = await report.counters()
        await bot.report.notePass(deadLetters: counters.deadLetters)
        return counters.logMetadata(onlyLearns: pass.mode.onlyLearns)
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

    /// Rules with `changed`, `enter` or `leave` that are new or changed.
    static func learning(_ rules: [String], _ lastSeen: LastSeenDocuments?) -> Self {
        Self(
            rules: rules, mode: .learn, lastSeen: lastSeen,
            beginning: "new and changed rules are learning all documents, without firing",
            end: "new and changed rules have learned all documents",
            failure: "new and changed rules could not learn all documents; the next start tries again")
    }

    /// Rules that are due at `time`; `began` is when the pass began. Both in seconds since 1970.
    static func scheduled(_ rules: ScheduledRules, began: Int, time: Int) -> Self {
        Self(
            rules: rules.names, mode: .scheduledPass(began: began, time: time),
            beginning: "starting a scheduled pass: applying rules to all documents",
            end: "finished a scheduled pass over all documents",
            failure: "a scheduled pass over all documents failed; trying again in a minute")
    }
}
