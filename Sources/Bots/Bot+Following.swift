internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules
internal import ServiceLifecycle

// One run on one database: what is composed, and the tasks that work side by side.
extension Bot {
    /// - Throws: Also ``DatabaseReset``.
    func follow(_ info: DatabaseInfo, _ watched: StateKeeper.Watched, wasThere: Bool) async throws {
        let run = try await compose(info, watched, wasThere: wasThere)
        try await run.delivery.run(
            from: source(of: run), backgroundTasks: sharedWork == nil ? backgroundTasks(of: run) : [],
            companions: companions(of: run))
        if settings.isOneShot, !settings.delivery.isDryRun, let reset = try await watched.watch.resetAtEnd() {
            throw reset
        }
        engine?.endCallsSoon()
        await copyCheckpoint(watched.watch)
    }

    /// What a run on one database has.
    private struct Run: Sendable {
        let info: DatabaseInfo
        let watched: StateKeeper.Watched
        /// Whether this process has read from the database before.
        let wasThere: Bool
        /// Where the feed is read from.
        let start: SequenceID
        /// The rules to be applied to all documents beside the feed.
        let catchesUp: [String]
        let counts: Counts?
        let delivery: Delivery

        var ledger: Ledger { delivery.ledger }
    }

    private func compose(
        _ info: DatabaseInfo, _ watched: StateKeeper.Watched, wasThere: Bool
    ) async throws -> Run {
        let ledger = watched.state.ledger
        let changed = try changedRules(ledger)
        let (info, start) = try await cancelWhenGracefulShutdown { try await startingPoint(info, watched, changed) }
        // Otherwise the next run would begin at what is newest then, and skip what came in between.
        if settings.feed.since == .now, !settings.delivery.isDryRun, try ledger.checkpoint() == nil {
            try await ledger.saveCheckpoint(start)
        }
        let missed = try missedRules(changed, ledger)
        let catchesUp = settings.catchesUp ? missed : []
        if catchesUp.isEmpty { try await noteRules(ledger, missed: missed) }
        let timers = try await timers(ledger, catchingUp: catchesUp.isEmpty ? [] : changed?.names ?? [])
        if settings.delivery.isDryRun { try showPasses(ledger) }
        let counts = settings.delivery.isDryRun ? nil : try await Counts.open(ruleSet, in: ledger)
        let delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: start, mode: mode, timers: timers,
            counters: await report.deliveredSoFar(), counts: counts, settings: deliverySettings(ledger), logger: logger)
        await delivery.progress.note(newest: info.newestSequence)
        await report.watch(delivery)
        settings.delivery.observer?.note(.progressed)
        logger.info("following the feed", metadata: [LogKey.since: "\(start)", LogKey.rules: "\(ruleSet.count)"])
        return Run(
            info: info, watched: watched, wasThere: wasThere, start: start, catchesUp: catchesUp, counts: counts,
            delivery: delivery)
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

    // MARK: - What works side by side

    private func source(of run: Run) -> any WorkSource {
        let confirmDatabase: @Sendable () async throws -> Void = {
            // A dry run does not start over.
            guard !settings.delivery.isDryRun else { return }
            try await confirm(run.watched)
        }
        let noteAnswer = run.watched.watch.noteAnswer
        if let sharedWork {
            return LogSource(
                sharedWork: sharedWork, backgroundTasks: LeaderTasks(backgroundTasks(of: run)), gateway: gateway,
                channels: settings.feed.channels, start: run.start, confirmDatabase: confirmDatabase,
                noteAnswer: noteAnswer)
        }
        return FeedSource(
            gateway: gateway, start: run.start,
            end: settings.isOneShot ? .caughtUp(with: run.info.newestSequence) : .never,
            following: settings.feed.following, channels: settings.feed.channels, knowsKeyspace: run.wasThere,
            confirmDatabase: confirmDatabase, noteAnswer: noteAnswer)
    }

    /// What only one process of this bot does.
    private func backgroundTasks(of run: Run) -> [BackgroundTask.Factory] {
        guard !settings.delivery.isDryRun else { return [] }
        let (delivery, ledger, logger) = (run.delivery, run.ledger, logger)
        var backgroundTasks: [BackgroundTask.Factory] = []
        if let timers = delivery.timers {
            backgroundTasks.append { [rules = ruleSet.timedRules] in TimerTask(timers, rules, delivery.settings, logger)
            }
        }
        if let counts = run.counts {
            let list = ListSource(gateway: gateway, info: run.info)
            backgroundTasks.append { [ruleSet] in CountsTask(counts, delivery, ruleSet, list) }
        }
        guard let runner = PassRunner(self) else { return backgroundTasks }
        if !settings.schedules.isEmpty {
            backgroundTasks.append { [settings] in PassTask(settings.schedules, runner.run, ledger, settings, logger) }
        }
        if !run.catchesUp.isEmpty {
            backgroundTasks.append { [ruleSet] in CatchUpTask(run.catchesUp, runner, delivery, ruleSet) }
        }
        return backgroundTasks
    }

    /// What goes on beside the reading, until it is cancelled.
    private func companions(of run: Run) -> [@Sendable () async throws -> Void] {
        let (delivery, watch) = (run.delivery, run.watched.watch)
        var tasks: [@Sendable () async throws -> Void] = []
        if !settings.delivery.isDryRun {
            tasks.append {
                try await watch.run {
                    try await delivery.saveCheckpoint()
                    delivery.timers?.lookAgain()
                }
            }
        }
        if let lease = run.ledger.lease { tasks.append { try await lease.untilOver() } }
        if run.ledger.isShared, let counts = run.counts { tasks.append { try await counts.keepKnown() } }
        if settings.delivery.observer != nil { tasks.append { try await followNewest(delivery.progress) } }
        return tasks
    }

    // MARK: - Time

    /// The timers of rules with `at:`; nil if there are no such rules.
    ///
    /// - Parameter changed: Rules that are about to be applied to all documents: their times are found anew.
    private func timers(_ ledger: Ledger, catchingUp changed: [String]) async throws -> DocumentTimers? {
        let rules = ruleSet.timedRules
        guard !rules.isEmpty else {
            // Another member may have other rules.
            if !ledger.isShared { try await ledger.keepTimers(ofRules: []) }
            return nil
        }
        if !changed.isEmpty { try await ledger.dropTimers(ofRules: changed) }
        return try await DocumentTimers(ledger, rules: rules)
    }

    /// Says in a dry run when passes would run.
    private func showPasses(_ ledger: Ledger) throws {
        let now = settings.delivery.now()
        PassTimes(settings.schedules, try ledger.schedules(), now: now).log(now: now, isDryRun: true, logger)
    }

    // MARK: - Changed rules

    /// The rules that are new or other than the state knows them; nil if it knows none, or the feed is read from its
    /// beginning.
    private func changedRules(_ ledger: Ledger) throws -> ChangedRules? {
        guard let noted = try ledger.notedRules(), try ledger.checkpoint() != nil else { return nil }
        return ChangedRules(ruleSet, noted: noted)
    }

    /// The rules that older documents have not seen: those that have changed now, and those with `at` that changed before
    /// a run that did not catch up with them. In the order of the rules.
    private func missedRules(_ changed: ChangedRules?, _ ledger: Ledger) throws -> [String] {
        guard let changed else { return [] }
        let missed = Set(changed.names).union(try ledger.missedRules())
        return ruleSet.names.filter(missed.contains)
    }

    /// - Parameter missed: The rules that older documents have not seen. Those with `at` are remembered: a later run can
    ///   catch up with them, and `changebot fix` can't.
    private func noteRules(_ ledger: Ledger, missed: [String]) async throws {
        guard !settings.delivery.isDryRun else { return }
        try await ledger.note(
            rules: ruleSet.fingerprints, missed: Set(ruleSet.timedRules).intersection(missed))
    }

    /// How often a run that catches up asks for the newest sequence, for those who watch it.
    private static let newestInterval: Duration = .seconds(15)

    /// Asks for the database's newest sequence while the run catches up, until the task is cancelled.
    private func followNewest(_ progress: RunProgress) async throws {
        while true {
            while await progress.facts.phase == .catchingUp {
                try await Task.sleep(for: Self.newestInterval)
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
        _ info: DatabaseInfo, _ watched: StateKeeper.Watched, _ changedRules: ChangedRules?
    ) async throws -> (info: DatabaseInfo, start: SequenceID) {
        var copy: DatabaseMark?
        switch watched.finding {
        case .same(let mark): copy = mark
        case .unknowable(let reason):
            guard !keeper.marks.trust.hasWarned else { break }
            logger.notice(
                "a reset of the database can't be detected: this user may not write local documents",
                metadata: [LogKey.reason: "\(reason)"])
        case .reset: return (info, .start)
        }
        let ledger = watched.state.ledger
        var since = settings.feed.since
        // A state that was there and is lost begins at its copy: what came meanwhile must not be skipped.
        if since == .now, isPastStart.withLock(\.self) { since = nil }
        let facts = StartFacts(
            checkpoint: try ledger.checkpoint(), isCheckpointReset: try ledger.isCheckpointReset(),
            since: since, copy: copy, ruleSetHash: ruleSet.hash, changedRules: changedRules,
            channels: watched.watch.channels)
        var info = info
        if facts.needsNewest, !info.reportsNewest {
            info = try await keeper.contact.connect(to: gateway, wasThere: true) { info in
                guard !info.reportsNewest else { return }
                throw GatewayError(
                    .unavailable, "\(gateway.url) does not report its newest sequence while it is offline")
            }
        }
        var start = facts.start(newest: info.updateSequence)
        // A run that continues has said so at its beginning.
        if await report.hasDelivered { start.notices.removeAll { $0 == .sinceIgnored } }
        start.log(
            to: logger, stateOptions: settings.delivery.stateOptions,
            fixOptions: settings.catchesUp ? nil : settings.fixOptions)
        return (info, start.sequence)
    }

    /// - Throws: ``DatabaseReset`` if it is another one now; `RunError`, ``StateError``, `CancellationError`.
    private func confirm(_ watched: StateKeeper.Watched) async throws {
        if case .reset(let reset) = try await keeper.contact.ask(watched.watch.look) { throw reset }
    }

    /// The run is ending: a gateway in trouble must not delay it.
    private func copyCheckpoint(_ watch: DatabaseWatch) async {
        do { try await watch.copyCheckpoint() } catch {
            logger.debug("the checkpoint can't be copied into the database", metadata: [LogKey.reason: "\(error)"])
        }
    }
}
