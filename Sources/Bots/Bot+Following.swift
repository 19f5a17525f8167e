internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules
internal import ServiceLifecycle

// One run on one database: its parts, and the tasks that run concurrently.
extension Bot {
    /// Follows the feed until the run ends or the database is reset.
    ///
    /// - Throws: Also ``DatabaseReset``.
    func follow(_ info: DatabaseInfo, _ checked: StateKeeper.CheckedState, hasConnectedBefore: Bool) async throws {
        let run = try await compose(info, checked, hasConnectedBefore: hasConnectedBefore)
        try await run.delivery.run(
            from: source(of: run), backgroundTasks: sharedWork == nil ? backgroundTasks(of: run) : [],
            companions: companions(of: run))
        if settings.isOneShot, !settings.delivery.isDryRun, let reset = try await checked.detector.resetAtEnd() {
            throw reset
        }
        // A run that ends by itself need not hurry.
        if !settings.isOneShot || Task.isShuttingDownGracefully { engine?.limitRemainingCalls() }
        if !settings.delivery.isDryRun { try await report.note(Remains(checked.state.ledger)) }
        engine?.limitRemainingCalls()
        await copyCheckpoint(checked.detector)
    }

    /// The parts of a run on one database.
    private struct Run: Sendable {
        let info: DatabaseInfo
        let checked: StateKeeper.CheckedState
        /// Whether this process has read from the database before.
        let hasConnectedBefore: Bool
        /// Where the feed is read from.
        let start: SequenceID
        /// The rules to apply to all documents while the feed is read.
        let catchesUp: [String]
        let counts: Counts?
        let orders: Orders
        /// Raised when there may be a backfill to begin.
        let ordered = Signal("an order about rules")
        let delivery: Delivery

        var ledger: Ledger { delivery.ledger }
    }

    /// The orders of operators that a run takes up.
    private struct Orders: Sendable {
        /// The number of the latest one.
        let latest: Int
        /// The rules that are paused or make up for changes.
        let rules: [PausedRule]
        let taken: TakenOrders

        var paused: Set<String> { taken.paused }

        init(_ ledger: Ledger) throws(StateError) {
            // Read first, so that the rules are at least those of this order.
            latest = try ledger.lastOrder()
            rules = try ledger.pausedRules()
            taken = TakenOrders(rules)
        }
    }

    /// Records where a run begins.
    private func note(
        _ start: SequenceID, _ info: DatabaseInfo, _ checked: StateKeeper.CheckedState
    ) async throws {
        let ledger = checked.state.ledger
        if try ledger.checkpoint() == nil {
            // Such as at the copy of a checkpoint, with a state that was restored from before its first checkpoint.
            if start != .start, !InjectedFault.uncountedStart.isActive { try await ledger.countAgain() }
            // Otherwise the next run would begin at the sequence that is newest then, and skip the changes in between.
            if settings.feed.since == .now { try await ledger.saveCheckpoint(start) }
        }
        if case .same = checked.finding { try await ledger.noteDatabase(info) }
    }

    private func compose(
        _ info: DatabaseInfo, _ checked: StateKeeper.CheckedState, hasConnectedBefore: Bool
    ) async throws -> Run {
        let ledger = checked.state.ledger
        let orders = try Orders(ledger)
        let changed = try changedRules(ledger)
        let (info, start) = try await cancelWhenGracefulShutdown { try await startingPoint(info, checked, changed) }
        if !settings.delivery.isDryRun { try await note(start, info, checked) }
        let missed = try missedRules(changed, ledger)
        let catchesUp = settings.catchesUp ? missed.filter { !orders.paused.contains($0) } : []
        if settings.delivery.isDryRun {
            try logPasses(ledger)
        } else {
            try await take(orders, missed: missed, from: start, ledger)
            try await noteRules(ledger, missed: missed, catchingUp: catchesUp)
            try await ledger.keepTraces(days: settings.delivery.traceDays)
        }
        let timers = try await timers(
            ledger, catchingUp: catchesUp.isEmpty ? [] : changed?.names ?? [], paused: orders.paused)
        let lastSeen = try await lastSeen(ledger)
        let counts = settings.delivery.isDryRun ? nil : try await Counts.open(ruleSet, in: ledger)
        let delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet.pausing(orders.paused), ledger: ledger, start: start, mode: mode,
            timers: timers, lastSeen: lastSeen, counters: await report.deliveredSoFar(), counts: counts,
            settings: deliverySettings(ledger), logger: logger)
        await delivery.progress.note(newest: info.newestSequence)
        await report.watch(delivery)
        await report.note(orders.taken)
        await report.note(newestAtStart: info.newestSequence)
        settings.delivery.observer?.note(.progressed)
        logger.info("following the feed", metadata: [LogKey.since: "\(start)", LogKey.rules: "\(ruleSet.count)"])
        return Run(
            info: info, checked: checked, hasConnectedBefore: hasConnectedBefore, start: start, catchesUp: catchesUp,
            counts: counts, orders: orders, delivery: delivery)
    }

    /// Records that this process takes up orders about rules.
    ///
    /// - Parameter missed: The rules that were not applied to older documents.
    private func take(
        _ orders: Orders, missed: [String], from start: SequenceID, _ ledger: Ledger
    ) async throws {
        if settings.catchesUp { try await ledger.notePausedFromBeginning(missed.filter(orders.paused.contains)) }
        // Members that share the work take up the order at different times.
        try await ledger.notePaused(orders.rules, from: ledger.isShared ? nil : start)
        try await ledger.noteTakenUp(order: orders.latest)
        log(orders.rules)
    }

    private func log(_ orders: [PausedRule]) {
        let known = settings.knownRules(ruleSet).all
        for (message, rules) in [
            ("rules are paused: they do not fire", orders.filter(\.isPaused)),
            ("rules are resumed: they make up for the changes that they missed", orders.filter { !$0.isPaused }),
        ] as [(Logger.Message, [PausedRule])] {
            let names = rules.map(\.name).filter(known.contains)
            if !names.isEmpty { logger.notice(message, metadata: [LogKey.rules: "\(names.joined(separator: ", "))"]) }
        }
        let counting = ruleSet.aggregates.map(\.name).filter { name in
            orders.contains { $0.isPaused && $0.name == name }
        }
        guard !counting.isEmpty else { return }
        logger.warning(
            "rules with 'aggregate' can't be paused, because they need every change",
            metadata: [LogKey.rules: "\(counting.joined(separator: ", "))"])
    }

    private var mode: Mode {
        if sharedWork != nil { return .share(settings.effectLimits) }
        return settings.isOneShot ? .once(settings.effectLimits) : .follow(settings.effectLimits)
    }

    private func deliverySettings(_ ledger: Ledger) -> Delivery.Settings {
        var delivering = settings.delivery
        delivering.pauses = .endedByGracefulShutdown
        if let lease = ledger.lease { delivering.retries.requireTenure = { try lease.requireTenure() } }
        if let sharedWork { delivering.retries.requireTenure = { try sharedWork.requireTenure() } }
        return delivering
    }

    // MARK: - Concurrent parts

    private func source(of run: Run) -> any WorkSource {
        let confirmDatabase: @Sendable () async throws -> Void = {
            // A dry run never starts over.
            guard !settings.delivery.isDryRun else { return }
            try await confirm(run.checked)
        }
        let noteAnswer = run.checked.detector.noteAnswer
        if let sharedWork {
            return LogSource(
                sharedWork: sharedWork, backgroundTasks: LeaderTasks(backgroundTasks(of: run)), gateway: gateway,
                channels: settings.feed.channels, start: run.start, confirmDatabase: confirmDatabase,
                noteAnswer: noteAnswer)
        }
        return FeedSource(
            gateway: gateway, start: run.start,
            end: settings.isOneShot ? .caughtUp(with: run.info.newestSequence) : .never,
            following: settings.feed.following, channels: settings.feed.channels, knowsKeyspace: run.hasConnectedBefore,
            confirmDatabase: confirmDatabase, noteAnswer: noteAnswer)
    }

    /// The tasks that only one process of this bot may run.
    private func backgroundTasks(of run: Run) -> [BackgroundTask.Factory] {
        guard !settings.delivery.isDryRun else { return [] }
        let (delivery, ledger, logger) = (run.delivery, run.ledger, logger)
        var backgroundTasks: [BackgroundTask.Factory] = []
        let paused = run.orders.paused
        let rules = ruleSet.timedRules.filter { !paused.contains($0) }
        if let timers = delivery.timers, !rules.isEmpty {
            backgroundTasks.append {
                TimerTask(timers, rules, delivery.settings, logger)
            }
        }
        if let counts = run.counts {
            let list = ListSource(gateway: gateway, info: run.info)
            backgroundTasks.append { [ruleSet] in CountsTask(counts, delivery, ruleSet, list) }
        }
        guard let runner = PassRunner(self) else { return backgroundTasks }
        if !settings.schedules.isEmpty {
            backgroundTasks.append { [settings] in
                PassTask(settings.schedules, paused: paused, runner.run, ledger, settings, logger)
            }
        }
        if !run.catchesUp.isEmpty {
            backgroundTasks.append { [ruleSet] in CatchUpTask(run.catchesUp, runner, delivery, ruleSet) }
        }
        let resumed = run.orders.rules.filter { !$0.isPaused }.sorted { $0.order < $1.order }
        if !resumed.isEmpty {
            backgroundTasks.append { [ruleSet, settings] in
                ResumedRulesTask(resumed, runner, delivery, ruleSet, settings)
            }
        }
        backgroundTasks.append { [ruleSet, settings, gateway] in
            BackfillTask(
                runner, delivery, gateway, rules: settings.knownRules(ruleSet).all,
                paused: paused, isOneShot: settings.isOneShot, woken: run.ordered)
        }
        return backgroundTasks
    }

    /// What runs while the feed is read, until it is cancelled.
    private func companions(of run: Run) -> [@Sendable () async throws -> Void] {
        let (delivery, detector) = (run.delivery, run.checked.detector)
        var tasks: [@Sendable () async throws -> Void] = []
        if !settings.delivery.isDryRun {
            tasks.append {
                try await detector.run {
                    try await delivery.saveCheckpoint()
                    delivery.timers?.recheck()
                }
            }
        }
        if !settings.delivery.isDryRun, !settings.isOneShot {
            let watch = OrderWatch(
                ledger: run.ledger, taken: run.orders.taken, ordered: run.ordered, restart: settings.restart)
            tasks.append { try await watch.run() }
        }
        if let lease = run.ledger.lease { tasks.append { try await lease.waitUntilOver() } }
        if run.ledger.isShared {
            tasks.append { try await LastSeenDocuments.deleteForgotten(by: delivery.lastSeen, in: run.ledger) }
        }
        if run.ledger.isShared, let counts = run.counts { tasks.append { try await counts.keepRulesRecorded() } }
        if settings.delivery.observer != nil { tasks.append { try await followNewestSequence(delivery.progress) } }
        return tasks
    }

    // MARK: - Timers and passes

    /// The timers of rules with `at:`; nil if there are no such rules.
    ///
    /// - Parameters:
    ///   - changed: Rules that are about to be applied to all documents; their timers are rebuilt.
    ///   - paused: Rules that do not fire; their timers are kept.
    private func timers(
        _ ledger: Ledger, catchingUp changed: [String], paused: Set<String>
    ) async throws -> DocumentTimers? {
        let rules = ruleSet.timedRules
        guard !rules.isEmpty else {
            // Another member may have other rules.
            if !ledger.isShared { try await ledger.keepTimers(ofRules: []) }
            return nil
        }
        if !changed.isEmpty { try await ledger.dropTimers(ofRules: changed) }
        return try await DocumentTimers(ledger, rules: rules, paused: paused)
    }

    /// The states that rules with `changed`, `enter` or `leave` last saw. Nil if there are no such rules.
    private func lastSeen(_ ledger: Ledger) async throws -> LastSeenDocuments? {
        let (documents, edited) = try await LastSeenDocuments.open(ruleSet, in: ledger)
        if !edited.isEmpty {
            logger.notice(
                "rules with 'changed', enter or leave were edited: they forget the documents that they have seen",
                metadata: [LogKey.rules: "\(edited.joined(separator: ", "))"])
        }
        return documents
    }

    /// Logs in a dry run when passes would run.
    private func logPasses(_ ledger: Ledger) throws {
        let now = settings.delivery.now()
        PassTimes(settings.schedules, try ledger.schedules(), now: now).log(now: now, isDryRun: true, logger)
    }

    // MARK: - Changed rules

    /// The rules that are new or changed since the state recorded them; nil if it has no record, or the feed is read
    /// from its beginning.
    private func changedRules(_ ledger: Ledger) throws -> ChangedRules? {
        guard let noted = try ledger.notedRules(), try ledger.checkpoint() != nil else { return nil }
        return ChangedRules(ruleSet, noted: noted, remembering: try ledger.remembering(ruleSet.comparing))
    }

    /// The rules that were not applied to older documents, in the order of the rules: those that have changed now, and
    /// those with `at` that changed before an earlier run without `--catch-up-changed-rules`.
    private func missedRules(_ changed: ChangedRules?, _ ledger: Ledger) throws -> [String] {
        guard let changed else { return [] }
        let missed = Set(changed.names).union(try ledger.missedRules())
        return ruleSet.names.filter(missed.contains)
    }

    /// Records the rules of this run.
    ///
    /// - Parameters:
    ///   - missed: The rules that were not applied to older documents. Those with `at` are recorded, because a later run
    ///     can apply them and `changebot fix` can't.
    ///   - catchesUp: Those of them that this run applies. If there are any, only the names are recorded before it has.
    private func noteRules(_ ledger: Ledger, missed: [String], catchingUp catchesUp: [String]) async throws {
        let names = settings.knownRules(ruleSet)
        guard catchesUp.isEmpty else { return try await ledger.note(knownRules: names) }
        try await ledger.note(
            rules: ruleSet.fingerprints, hash: ruleSet.hash, missed: Set(ruleSet.timedRules).intersection(missed),
            names: names)
    }

    /// How often a run asks for the newest sequence during catch-up, to show its progress.
    private static let newestSequenceInterval: Duration = .seconds(15)

    /// Asks for the database's newest sequence during catch-up, until the task is cancelled.
    private func followNewestSequence(_ progress: RunProgress) async throws {
        while true {
            while await progress.facts.phase == .catchingUp {
                try await Task.sleep(for: Self.newestSequenceInterval)
                guard await progress.facts.phase == .catchingUp, let info = try? await gateway.databaseInfo() else {
                    continue
                }
                await progress.note(newest: info.newestSequence)
            }
            try await progress.catchesUp.wait()
        }
    }

    /// Where to start: see ``StartFacts/start(newest:)``.
    ///
    /// - Returns: Also `info`, read again if the run starts at the newest sequence and it was not known.
    private func startingPoint(
        _ info: DatabaseInfo, _ checked: StateKeeper.CheckedState, _ changedRules: ChangedRules?
    ) async throws -> (info: DatabaseInfo, start: SequenceID) {
        var copy: DatabaseMark?
        switch checked.finding {
        case .same(let mark): copy = mark
        case .inaccessible(let reason):
            guard !keeper.marks.trust.hasWarned else { break }
            logger.notice(
                "a reset of the database can't be detected: this user may not write local documents",
                metadata: [LogKey.reason: "\(reason)"])
        case .reset: return (info, .start)
        }
        let ledger = checked.state.ledger
        var since = settings.feed.since
        // A state that was lost during the run continues from its copy, so that no change since then is skipped.
        if since == .now, hasStartedBefore.withLock(\.self) { since = nil }
        let facts = StartFacts(
            checkpoint: try ledger.checkpoint(), isCheckpointReset: try ledger.isCheckpointReset(),
            since: since, copy: copy, ruleSetHash: ruleSet.hash, notedRuleSetHash: try ledger.notedRuleSetHash(),
            changedRules: changedRules, channels: checked.detector.channels)
        var info = info
        if facts.needsNewest, !info.hasNewestSequence {
            info = try await keeper.contact.connect(to: gateway, hasConnectedBefore: true) { info in
                guard !info.hasNewestSequence else { return }
                throw GatewayError(
                    .unavailable, "\(gateway.url) does not report its newest sequence while it is offline")
            }
        }
        var start = facts.start(newest: info.updateSequence)
        // A run that continues has logged this at its start.
        if await report.hasDelivered { start.notices.removeAll { $0 == .sinceIgnored } }
        start.log(
            to: logger, stateOptions: settings.delivery.stateOptions,
            fixOptions: settings.catchesUp ? nil : settings.fixOptions)
        return (info, start.sequence)
    }

    /// Checks that this is still the same database.
    ///
    /// - Throws: ``DatabaseReset`` if it is not; `RunError`, ``StateError``, `CancellationError`.
    private func confirm(_ checked: StateKeeper.CheckedState) async throws {
        if case .reset(let reset) = try await keeper.contact.ask(checked.detector.detect) { throw reset }
    }

    /// Copies the checkpoint into the database as the run ends. An error is only logged: it must not delay the end.
    private func copyCheckpoint(_ detector: DatabaseResetDetector) async {
        do { try await detector.copyCheckpoint() } catch {
            logger.debug("the checkpoint can't be copied into the database", metadata: [LogKey.reason: "\(error)"])
        }
    }
}
