internal import BotState
package import Delivery
internal import DocumentFlow
package import GatewayClient
package import Logging
internal import PostgreSQL
package import Rules
internal import ServiceLifecycle

/// `changebot fix`: applies the rules once to every live document of a keyspace. For a resumed rule: to the changes that
/// it missed.
///
/// A document that changes during the pass is not missed. Nor is it processed twice, unless the user may not read
/// `_all_docs`.
///
/// On graceful shutdown it stops reading, finishes the documents it has read, and returns. After a kill, run it again:
/// it skips the finished documents.
package struct Fixer: Service {
    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let mode: Mode
    private let settings: Delivery.Settings
    private let timers: DocumentTimers?
    private let lastSeen: LastSeenDocuments?
    private let report: RunReport
    private let logger: Logger
    private let keeper: StateKeeper
    private let skippedRules: SkippedRules
    private let source: PassSource
    private let runOfPass: RunOfPass?

    /// - Parameters:
    ///   - name: The name of the state, and of the mark in the database.
    ///   - mode: ``Mode/pass``, a ``Mode/scheduledPass(began:time:)``, ``Mode/learn``, or ``Mode/makeUp(_:)``.
    ///   - source: The changes to read, for ``Mode/makeUp(_:)``; otherwise documents.
    ///   - run: The run for which a pass inside it makes up; nil: none.
    ///   - lastSeen: Where a pass inside a run records what rules see, for ``Mode/learn`` and ``Mode/makeUp(_:)``. Nil: in
    ///     this state, which must be that of the run.
    ///   - timers: Where timers of rules with `at:` are recorded; nil: rules whose time is still to come do nothing.
    package init(
        gateway: Gateway, ruleSet: RuleSet, state: StatePlace, name: String = "fix-changebot",
        mode: Mode = .pass, source: PassSource = .allDocuments, run: RunOfPass? = nil,
        settings: Delivery.Settings, timers: DocumentTimers? = nil,
        lastSeen: LastSeenDocuments? = nil, report: RunReport,
        logger: Logger
    ) {
        let state = state.limited(by: CallLimit())
        keeper = StateKeeper(
            place: state, gateway: gateway, name: name, retries: settings.retries, report: report, logger: logger)
        self.gateway = gateway
        (self.source, runOfPass) = (source, run)
        self.ruleSet =
            if mode.onlyLearns {
                ruleSet.onlyComparing()
            } else {
                source.isChanges
                    ? ruleSet.withoutAggregates() : ruleSet.withoutAggregates().withoutComparing()
            }
        skippedRules = SkippedRules(ruleSet)
        self.report = report
        self.logger = logger
        self.settings = settings
        self.mode = mode
        self.timers = timers
        self.lastSeen = lastSeen
    }

    private var engine: Engine? { keeper.place.catalogue.engine }

    /// Returns at the end of the pass, or after a graceful shutdown.
    ///
    /// - Throws: `RunError` or ``StateError``.
    package func run() async throws {
        if !mode.onlyLearns, source.isAllDocuments { skippedRules.log(to: logger) }
        try await withTaskCancellationHandler {
            guard let engine else { return try await apply() }
            try await engine.renewingLease { try await apply() }
        } onCancel: {
            engine?.abortRemainingCalls()
        }
    }

    private func apply() async throws {
        do {
            let info = try await cancelWhenGracefulShutdown { try await keeper.contact.connect(to: gateway) }
            // A run that is refused leaves no state and no mark behind.
            try Delivery.check(ruleSet, on: gateway, settings, logger)
            let checked = try await cancelWhenGracefulShutdown { try await openState() }
            let ledger = checked.state.ledger
            defer { ledger.close() }
            if !settings.isDryRun { try await ledger.keepTraces(days: settings.traceDays) }
            await report.expect(documents: info.documentCount)
            var settings = settings
            settings.pauses = .endedByGracefulShutdown
            if let lease = ledger.lease { settings.retries.requireTenure = { try lease.requireTenure() } }
            let delivery = try await Delivery(
                gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: source.start, mode: mode,
                timers: timers, lastSeen: try await lastSeen(ledger), run: runOfPass, settings: settings,
                logger: logger)
            await report.watch(delivery, hasSequence: false)
            try await delivery.run(
                from: source.makeSource(gateway, info, noteAnswer: checked.detector.noteAnswer))
            if settings.preview == nil, let reset = try await checked.detector.resetAtEnd() {
                throw RunError(.databaseReset, "\(reset.reason); it happened while 'fix' was running, so run it again")
            }
        } catch is CancellationError where Task.isAskedToStop {
        }
    }

    private func lastSeen(_ ledger: Ledger) async throws -> LastSeenDocuments? {
        if source.isChanges { return lastSeen }
        guard mode.onlyLearns else { return nil }
        if let lastSeen { return lastSeen }
        if try ledger.checkpoint() == nil {
            logger.warning(
                "no bot of this name has run with this database yet; if the bot has another name, run this again with its --name"
            )
        }
        return try await LastSeenDocuments.open(ruleSet, in: ledger, belongsToRun: false).documents
    }

    /// Opens the state of this database. If the database was reset, clears what the state remembers of it.
    private func openState() async throws -> StateKeeper.CheckedState {
        let checked = try await keeper.open { reset, state in
            // The state is that of the run, which must notice the reset itself.
            if mode.onlyLearns, lastSeen == nil {
                throw RunError(.databaseReset, "\(reset.reason); start 'changebot run' first, which starts over")
            }
            logger.notice(
                "forgetting the earlier passes over the database", metadata: [LogKey.reason: "\(reset.reason)"])
            return try await keeper.renew(reset, state) {
                try await state.ledger.forgetDatabase(identity: $0, record: reset.record)
            }
        }
        // Rewrites the mark: otherwise Sync Gateway drops it after 90 days.
        try? await checked.detector.copyCheckpoint()
        return checked
    }
}

/// The rules that a pass over all documents does not apply.
private struct SkippedRules {
    let counting: [String]
    let resolving: [String]
    let comparing: [String]

    init(_ ruleSet: RuleSet) {
        counting = ruleSet.aggregates.map(\.name)
        resolving = ruleSet.conflictRules
        comparing = ruleSet.comparing.map(\.name)
    }

    func log(to logger: Logger) {
        log(
            resolving,
            "rules with 'resolve' follow the feed, so only 'changebot run' applies them; for all documents, run 'changebot resolve'",
            to: logger)
        log(
            counting,
            "rules with 'aggregate' need every change, so only 'changebot run' applies them: it counts all documents by itself",
            to: logger)
        log(
            comparing,
            "rules with 'changed', enter or leave follow the feed, so only 'changebot run' applies them; to let them learn all documents, run 'changebot fix --learn'",
            to: logger)
    }

    private func log(_ rules: [String], _ message: Logger.Message, to logger: Logger) {
        guard !rules.isEmpty else { return }
        logger.notice(message, metadata: [LogKey.rules: "\(rules.joined(separator: ", "))"])
    }
}
