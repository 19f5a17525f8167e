internal import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging
internal import PostgreSQL
package import Rules
internal import ServiceLifecycle

/// `changebot run`: follows the feed of one keyspace and applies the rules.
///
/// On graceful shutdown it stops reading, finishes what it has taken in, saves the checkpoint and returns; what waits
/// for another attempt is left to the next run. Cancelling drops what is under way: the next run sees it again.
package struct Bot: Service {
    private let gateway: Gateway
    private let ruleSet: RuleSet
    let settings: BotSettings
    let logger: Logger
    private let report: RunReport
    private let place: StatePlace
    private var keeper: StateKeeper
    private let engine: Engine?
    /// Nil: this process works alone.
    private let sharedWork: SharedWork?
    /// Whether this process of a fleet ran, or stood by, before its present turn.
    private let isPastStart = Locked(false)

    /// - Parameter report: Follows the run, also beyond a reset of the database.
    package init(
        gateway: Gateway, ruleSet: RuleSet, state: StatePlace, settings: BotSettings, report: RunReport,
        logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.report = report
        self.logger = logger
        let state = state.limited(by: CallLimit())
        let engine = state.isReadOnly ? nil : state.catalogue.engine
        self.engine = engine
        var settings = settings
        if let clock = engine?.clock {
            clock.watch(settings.delivery.now) { Self.warn(ofClock: $0, logger) }
            if settings.takesEngineTime { settings.delivery.now = { clock.now() } }
        }
        self.settings = settings
        let sharing = state.isReadOnly ? nil : settings.sharing
        sharedWork = sharing.flatMap { sharing in
            if let log = settings.workLog { return SharedWork(log, sharing, logger: logger) }
            return engine.map { SharedWork($0, sharing, logger: logger) }
        }
        place = state
        keeper = Self.keeper(state, gateway, settings, report, logger)
    }

    /// Returns at the end of a one-shot run, or after a graceful shutdown.
    ///
    /// - Throws: `RunError` or ``StateError``.
    package func run() async throws {
        // Beside the first requests.
        ruleSet.prepare()
        guard let engine else { return try await runAlone() }
        try await withTaskCancellationHandler {
            if settings.isOneShot { try await runAlone() } else { try await runInTurns(engine) }
        } onCancel: {
            engine.endCallsNow()
        }
    }

    private func runInTurns(_ engine: Engine) async throws {
        let standby = Standby(
            engine, ruleSetHash: ruleSet.hash, sharing: settings.sharing, report: report,
            observer: settings.delivery.observer, logger: logger, lossDelay: settings.engineLossDelay)
        let watch = FleetWatch(engine, isSharing: sharedWork != nil)
        await report.watch(watch)
        defer {
            engine.endCallsSoon()
            sharedWork?.close()
            standby.leave()
            watch.close()
        }
        do {
            while true {
                try await cancelWhenGracefulShutdown { try await standby.untilFree() }
                let isEstablished = await standby.isEstablished
                isPastStart.withLock { $0 = isEstablished }
                do {
                    guard try await standby.whileNotDrained(runTurn) else { return }
                    // The turn is over, and the process goes on.
                    engine.allowCalls()
                    await report.reconnect()
                } catch let error as StateError {
                    guard await standby.canRetry(after: error) else { throw error }
                    if !Task.isShuttingDownGracefully { engine.allowCalls() }
                    try await cancelWhenGracefulShutdown { try await standby.note(error) }
                }
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// - Parameter lead: By how many seconds this machine's clock is ahead of the engine's.
    private static func warn(ofClock lead: Int, _ logger: Logger) {
        guard lead != 0 else { return logger.notice("this machine's clock and the engine's agree again") }
        logger.warning(
            "this machine's clock and the engine's differ; set the one that is wrong",
            metadata: [LogKey.difference: "\(abs(lead)) s \(lead < 0 ? "behind" : "ahead")"])
    }

    private func runTurn() async throws {
        guard let sharedWork else { return try await runAlone() }
        var member = self
        member.keeper = Self.keeper(place.shared(try await sharedWork.join()), gateway, settings, report, logger)
        do { try await member.runAlone() } catch {
            await sharedWork.leave()
            throw error
        }
        await sharedWork.leave()
    }

    private static func keeper(
        _ place: StatePlace, _ gateway: Gateway, _ settings: BotSettings, _ report: RunReport, _ logger: Logger
    ) -> StateKeeper {
        StateKeeper(
            place: place, gateway: gateway, name: settings.name, retries: settings.delivery.retries, report: report,
            logger: logger, channels: settings.channels?.sorted(),
            // Of those that share the work, only one reads the feed, and notices at once what happens to it.
            checkInterval: settings.sharing == nil
                ? settings.checkInterval : min(settings.checkInterval, DatabaseWatch.intervalOfMembers))
    }

    /// Runs as the only process with this state, or beside others that share the work.
    private func runAlone() async throws {
        var state: StateCatalogue.Opened?
        defer { state?.ledger.close() }
        do {
            // A run whose rules were changed continues on the same gateway.
            var wasThere = await report.hasDelivered
            while true {
                let (info, watched) = try await cancelWhenGracefulShutdown { [state, wasThere] in
                    try await prepare(state, wasThere: wasThere)
                }
                state = watched.state
                do { return try await follow(info, watched, wasThere: wasThere) } catch let reset as DatabaseReset {
                    state = try await startOver(reset, watched.state)
                }
                wasThere = true
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// Once the gateway answers, finds out which database it is and opens its state.
    ///
    /// - Parameters:
    ///   - held: The state, if this run has opened it already.
    ///   - wasThere: Whether this run has read from the database before: a daemon then waits for it to come back.
    private func prepare(
        _ held: StateCatalogue.Opened?, wasThere: Bool
    ) async throws -> (info: DatabaseInfo, watched: StateKeeper.Watched) {
        let info = try await keeper.contact.connect(to: gateway, wasThere: wasThere)
        try gateway.check(channels: settings.channels)
        if settings.channels != nil, let rule = ruleSet.aggregates.first {
            throw RunError(
                .badConfiguration,
                "the rule '\(rule.name)' counts the documents of the whole database: leave --channels out, or run it "
                    + "in a bot of its own")
        }
        if held == nil, !wasThere { keeper.warnAboutName() }
        return (info, try await keeper.open(held, onReset: startOver))
    }

    /// Forgets the database that was reset.
    ///
    /// - Returns: The state to continue with; nil if it must be looked up.
    private func startOver(
        _ reset: DatabaseReset, _ state: StateCatalogue.Opened
    ) async throws -> StateCatalogue.Opened? {
        if sharedWork != nil, let engine {
            throw RunError(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning, stop all members, then: "
                    + "changebot fleet reset \(engine.options)")
        }
        let policy = settings.onReset ?? (ruleSet.actsOutside ? .stop : .restart)
        guard policy == .restart else {
            let consequence = ruleSet.actsOutside ? ", which repeats the webhooks and events of its rules" : ""
            throw RunError(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning\(consequence), run with --on-reset restart"
            )
        }
        logger.warning("starting over from the beginning", metadata: [LogKey.reason: "\(reset.reason)"])
        return try await keeper.renew(reset, state) { identity in
            try await state.ledger.startOver(identity: identity, at: .start, reason: reset.reason)
        }
    }

    /// - Throws: Also ``DatabaseReset``.
    private func follow(_ info: DatabaseInfo, _ watched: StateKeeper.Watched, wasThere: Bool) async throws {
        let ledger = watched.state.ledger
        let changed = try changedRules(ledger)
        let (info, start) = try await cancelWhenGracefulShutdown { try await startingPoint(info, watched, changed) }
        // Otherwise the next run would begin at what is newest then, and skip what came in between.
        if settings.since == .now, settings.delivery.preview == nil, try ledger.checkpoint() == nil {
            try await ledger.saveCheckpoint(start)
        }
        let missed = try missedRules(changed, ledger)
        let mustCatchUp = settings.catchUp != nil && !missed.isEmpty
        if !mustCatchUp { try await noteRules(ledger, missed: missed) }
        let timers = try await timers(ledger, catchingUp: mustCatchUp ? changed?.names ?? [] : [])
        if settings.delivery.preview != nil { try showPasses(ledger) }
        var delivering = settings.delivery
        delivering.pauses = .endedByGracefulShutdown
        delivering.effectLimits = settings.effectLimits
        delivering.decidesPuts = settings.isOneShot
        let tenure = ledger.tenure
        if let tenure { delivering.retries.requireTenure = { try tenure.require() } }
        if let sharedWork {
            delivering.retries.requireTenure = { try sharedWork.requireTenure() }
            delivering.savesCheckpoint = false
        }
        let counts = try await counts(ledger)
        let delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: start, timers: timers,
            counters: await report.deliveredSoFar(), counts: counts, settings: delivering, logger: logger)
        await delivery.progress.note(newest: info.newestSequence)
        await report.watch(delivery)
        settings.delivery.observer?.note(.progressed)
        logger.info("following the feed", metadata: [LogKey.since: "\(start)", LogKey.rules: "\(ruleSet.count)"])
        try await delivery.run(endsItself: sharedWork != nil) {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    async let caughtUp: Void = mustCatchUp ? catchUp(missed, timers, ledger) : ()
                    async let timed: Void = settings.isOneShot ? workOnTime(delivery, ledger) : ()
                    try await count(counts, info, delivery) {
                        if let sharedWork {
                            try await sharedWork.run(
                                gateway, channels: settings.channels, from: start, into: delivery,
                                duty: leaderWork(delivery, counts, info), noteAnswer: watched.watch.noteAnswer
                            ) { try await confirmDatabase(watched) }
                        } else {
                            try await readFeed(info, watched, from: start, into: delivery, wasThere: wasThere)
                        }
                    }
                    // A daemon's feed has no end.
                    try await caughtUp
                    try await timed
                }
                if !settings.isOneShot, isTimed, sharedWork == nil {
                    group.addTask { try await workOnTime(delivery, ledger) }
                }
                if settings.delivery.preview == nil {
                    group.addTask {
                        try await watched.watch.run {
                            try await delivery.saveCheckpoint()
                            timers?.lookAgain()
                        }
                    }
                }
                if let tenure { group.addTask { try await tenure.untilLost() } }
                if sharedWork != nil, let counts { group.addTask { try await counts.keepKnown() } }
                if settings.delivery.observer != nil { group.addTask { try await followNewest(delivery.progress) } }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
        if settings.isOneShot, settings.delivery.preview == nil, let reset = try await watched.watch.resetAtEnd() {
            throw reset
        }
        engine?.endCallsSoon()
        await copyCheckpoint(watched.watch)
    }

    /// Counts all documents for rules whose counts are not complete, while the feed is read.
    private func count(
        _ counts: Counts?, _ info: DatabaseInfo, _ delivery: Delivery,
        whileReading read: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let counts, !counts.isComplete, sharedWork == nil else { return try await read() }
        let pass = pass(counts, delivery)
        try await withThrowingTaskGroup { group in
            group.addTask { try await read() }
            group.addTask { try await pass.run(info) }
            try await group.waitForAll()
        }
    }

    private func pass(_ counts: Counts, _ delivery: Delivery) -> CountsPass {
        CountsPass(
            gateway: gateway, ruleSet: ruleSet, counts: counts, delivery: delivery,
            retries: settings.delivery.retries, logger: logger)
    }

    /// Nil: no rule counts, or this is a dry run.
    private func counts(_ ledger: Ledger) async throws(StateError) -> Counts? {
        guard settings.delivery.preview == nil else { return nil }
        return sharedWork == nil
            ? try await Counts.keeper(of: ruleSet, in: ledger) : try await Counts.sharer(of: ruleSet, in: ledger)
    }

    /// What this process does for the others while it reads the feed.
    private func leaderWork(_ delivery: Delivery, _ counts: Counts?, _ info: DatabaseInfo) -> LeaderWork {
        let counts = ruleSet.aggregates.isEmpty ? nil : counts
        return LeaderWork(
            delivery, ruleSet, counts: counts, pass: counts.map { pass($0, delivery) }, info: info,
            runPasses: { [self] in try await runPasses(delivery.ledger) }, logger: logger)
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

    /// Whether anything happens at certain times.
    private var isTimed: Bool {
        settings.delivery.preview == nil && !(ruleSet.timedRules.isEmpty && settings.schedules.isEmpty)
    }

    /// Fires timers, and runs the passes of scheduled rules. Returns in a one-shot run only.
    private func workOnTime(_ delivery: Delivery, _ ledger: Ledger) async throws {
        guard isTimed else { return }
        try await withThrowingTaskGroup { group in
            if delivery.timers != nil {
                group.addTask { [settings] in try await delivery.fireTimers(isOnce: settings.isOneShot) }
            }
            if !settings.schedules.isEmpty { group.addTask { try await runPasses(ledger) } }
            try await group.waitForAll()
        }
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
    private func noteRules(_ ledger: Ledger, missed: [String] = []) async throws {
        guard settings.delivery.preview == nil else { return }
        try await ledger.note(
            rules: ruleSet.fingerprints, missed: Set(ruleSet.timedRules).intersection(missed))
    }

    /// Applies changed rules to all documents.
    ///
    /// Killed in between, the next run begins it again, because the state still knows the rules as they were.
    private func catchUp(_ changed: [String], _ timers: DocumentTimers?, _ ledger: Ledger) async throws {
        if let catchUp = settings.catchUp, try await catchUp(changed, timers) { try await noteRules(ledger) }
    }

    /// How often a run that catches up asks for the newest sequence, for those who watch it.
    private static let newestInterval: Duration = .seconds(15)

    /// How long the next request for changes waits, at most, for what the last ones lead to: as long as a gateway takes
    /// for a small write. A longpoll at the same time would make that write slower.
    private static let longestRest: Duration = .milliseconds(20)

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
        var since = settings.since
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
            fixOptions: settings.catchUp == nil ? settings.fixOptions : nil)
        return (info, start.sequence)
    }

    /// Returns at the end of a one-shot run.
    private func readFeed(
        _ info: DatabaseInfo, _ watched: StateKeeper.Watched, from start: SequenceID, into delivery: Delivery,
        wasThere: Bool
    ) async throws {
        let progress = delivery.progress
        var reader = FeedReader(
            gateway: gateway, end: settings.isOneShot ? .caughtUp(with: info.newestSequence) : .never,
            retries: settings.delivery.retries, logger: logger,
            noteRetry: { await progress.noteRetry() })
        reader.following = settings.following
        reader.channels = settings.channels
        reader.listsLeaves = delivery.resolvesConflicts
        reader.knowsKeyspace = wasThere
        reader.confirmDatabase = {
            // A dry run does not start over.
            guard settings.delivery.preview == nil else { return }
            try await confirmDatabase(watched)
        }
        reader.noteStanding = { await delivery.noteStanding(isCaughtUp: $0) }
        reader.noteAnswer = watched.watch.noteAnswer
        reader.letWork = { try await progress.untilSettled(atMost: Self.longestRest) }
        let intake = delivery.makeIntake()
        try await reader.read(from: start) { rows, reached in
            try await intake.take(rows, reached: reached)
        }
    }

    /// - Throws: ``DatabaseReset`` if it is another one now; `RunError`, ``StateError``, `CancellationError`.
    private func confirmDatabase(_ watched: StateKeeper.Watched) async throws {
        if case .reset(let reset) = try await keeper.contact.ask(watched.watch.look) { throw reset }
    }

    /// The run is ending: a gateway in trouble must not delay it.
    private func copyCheckpoint(_ watch: DatabaseWatch) async {
        do { try await watch.copyCheckpoint() } catch {
            logger.debug("the checkpoint can't be copied into the database", metadata: [LogKey.reason: "\(error)"])
        }
    }
}

extension DatabaseInfo {
    /// Whether `updateSequence` is the newest sequence now.
    var reportsNewest: Bool { isOnline && updateSequence != nil }
}
