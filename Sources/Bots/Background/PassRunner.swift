internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
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
        /// Where a learning pass stores what rules see, and a resumed rule finds it.
        var lastSeen: LastSeenDocuments?
        var source = PassSource.allDocuments
        /// Only documents that this matches; nil: all.
        var filter: DocumentFilter?
        /// Called with the sequence that it has reached, however it ends. For a pass that reads the feed.
        var noteReached: (@Sendable (SequenceID) async -> Void)?
        /// If it makes up for the run.
        var run: RunOfPass?
        /// For the begin and the end in the log.
        var level = Logger.Level.notice
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
            bot.logger.log(level: pass.level, pass.beginning, metadata: rules)
            do {
                let result = try await applyAndShow(pass)
                bot.logger.log(level: pass.level, pass.end, metadata: rules.merging(result) { $1 })
                return !Task.isShuttingDownGracefully
            } catch {
                guard !Task.isCancelled, !(error is CancellationError) else { return false }
                if bot.settings.isOneShot { throw error }
                bot.logger.warning(pass.failure, metadata: rules.merging([LogKey.reason: "\(error)"]) { $1 })
                return false
            }
        }
    }

    /// How an ordered pass has ended.
    enum End { case completed, failed, cancelled }

    /// Runs a pass that an operator has ordered, as long as the order stands.
    ///
    /// - Parameter isWanted: Asked whenever there may be another order.
    func run(
        _ pass: Pass, orderedIn ledger: Ledger, while isWanted: @escaping @Sendable (Ledger) throws(StateError) -> Bool
    ) async throws -> End {
        try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask { try await self.run(pass) ? .completed : .failed }
            group.addTask {
                // Other tasks notice whether the engine answers.
                try await ledger.whileOrdered { (try? await ledger.onSeparateThread(isWanted)) ?? true }
                return .cancelled
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .failed
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
        let ruleSet = try settings.rules.ruleSet(only: pass.rules, filter: pass.filter)
        try settings.state.catalogue.check()
        var delivery = bot.settings.delivery
        delivery.stateOptions = settings.stateOptions
        // A pass is counted and shown separately from the run.
        delivery.retries.observer = nil
        let report = RunReport()
        let fixer = Fixer(
            gateway: bot.gateway, ruleSet: ruleSet, state: settings.state.with(ruleSetHash: ruleSet.hash),
            name: settings.state.catalogue.name, mode: pass.mode, source: pass.source,
            run: pass.run, settings: delivery, timers: pass.timers,
            lastSeen: pass.lastSeen, report: report, logger: bot.logger
        )
        do { try await fixer.run() } catch {
            await noteReached(by: pass, report)
            throw error
        }
        await noteReached(by: pass, report)
        try Task.checkCancellation()
        let counters = await report.counters()
        await bot.report.notePass(deadLetters: counters.deadLetters)
        return counters.logMetadata(onlyLearns: pass.mode.onlyLearns)
    }
}

extension PassRunner {
    private func noteReached(by pass: Pass, _ report: RunReport) async {
        guard let note = pass.noteReached, let sequence = await report.safeSequence else { return }
        await note(sequence)
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

    /// A resumed rule, for the changes that it missed.
    static func resumed(
        _ rule: PausedRule, channels: [String]?, _ guards: EffectLimits?, _ delivery: Delivery
    ) -> Self {
        Self(
            rules: [rule.name], mode: .makeUp(guards), timers: delivery.timers, lastSeen: delivery.lastSeen,
            source: .changes(since: rule.since ?? .start, channels: channels),
            noteReached: { [ledger = delivery.ledger] sequence in
                // Otherwise the next attempt only reads more than it needs.
                try? await ledger.noteReached(sequence, by: rule)
            },
            run: RunOfPass(ledger: delivery.ledger, lastWrite: rule.lastWrite),
            beginning: "a resumed rule makes up for the changes that it missed",
            end: "a resumed rule has made up for the changes that it missed",
            failure: "a resumed rule could not make up for the changes that it missed; trying again in a minute")
    }

    /// A part of a backfill.
    static func backfill(_ part: BackfillPart, _ filter: DocumentFilter?, _ delivery: Delivery) -> Self {
        Self(
            rules: [part.backfill.rule], mode: .pass, timers: delivery.timers, source: .backfill(part), filter: filter,
            run: RunOfPass(ledger: delivery.ledger), level: .debug, beginning: "continuing a backfill",
            end: "a part of a backfill is done", failure: "a backfill was interrupted; trying again in a minute")
    }

    /// Rules that are due at `time`; `began` is when the pass began. Both in seconds since 1970.
    static func scheduled(_ rules: [String], began: Int, time: Int) -> Self {
        Self(
            rules: rules, mode: .scheduledPass(began: began, time: time),
            beginning: "starting a scheduled pass: applying rules to all documents",
            end: "finished a scheduled pass over all documents",
            failure: "a scheduled pass over all documents failed; trying again in a minute")
    }
}
