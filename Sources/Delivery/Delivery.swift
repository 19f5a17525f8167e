package import BotState
package import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
internal import Outside
internal import Revisions
package import Rules
internal import ServiceLifecycle

/// The pipeline of a run: rules, writes, state. The caller feeds it changes or documents.
package struct Delivery: Sendable {
    let context: RoundContext
    private let saving = TaskLock()

    /// Counters and safe sequence, for reports.
    package var progress: RunProgress { context.progress }
    /// Readers of documents stop once it is exhausted.
    package var allowance: ChangeAllowance { context.allowance }
    /// Nil: rules with `at:` store no timers.
    package var timers: DocumentTimers? { context.state.timers }
    /// Nil: no rule has `changed`, `enter` or `leave`.
    package var lastSeen: LastSeenDocuments? { context.state.lastSeen }
    package var ledger: Ledger { context.state.ledger }
    var mode: Mode { context.mode }
    package var settings: Settings { context.settings }
    package var logger: Logger { context.logger }
    var flow: CandidateFlow { context.flow }

    /// - Parameters:
    ///   - start: Where the feed is read from; any sequence without a feed.
    ///   - timers: The timers of the bot that the documents belong to; nil: none.
    ///   - lastSeen: The document states that rules last saw. Nil: none are known, and none are recorded.
    ///   - counters: The run's counters so far, if it restarts after a reset of the database.
    ///   - counts: Nil: no rule counts, or this run does not keep counts.
    ///   - run: The run for which a pass makes up; nil: none.
    /// - Throws: `RunError`: `.badConfiguration` if a rule writes to an invalid keyspace, or a file of a rule can't be
    ///   used, `.cannotCreate` if one emits to a file that can't be written; ``StateError``.
    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, start: SequenceID = .start,
        mode: Mode, timers: DocumentTimers? = nil, lastSeen: LastSeenDocuments? = nil,
        counters: RunCounters = RunCounters(), counts: Counts? = nil, run: RunOfPass? = nil,
        settings: Settings, logger: Logger
    ) async throws {
        try Self.prepareExpiry(of: ruleSet, gateway)
        let progress = RunProgress(
            start: start, counters: counters, savedAt: try ledger.checkpointAge().map { .now - $0 },
            observer: settings.observer)
        let noteRetry: @Sendable () async -> Void = { await progress.noteRetry() }
        let contact = GatewayContact(
            settings: settings.retries, pauses: settings.pauses, logger: logger, noteRetry: noteRetry)
        let pass = SearchPass(
            gateway: gateway, retries: settings.retries, pauses: settings.pauses, logger: logger, noteRetry: noteRetry)
        context = RoundContext(
            flow: CandidateFlow(
                queue: CandidateQueue(),
                budget: MemoryBudget(settings.capacity.memory, documents: settings.capacity.documents)),
            state: try await KnownState(ledger, timers, lastSeen, counts, run, settings, logger),
            rules: RuleContext(
                set: ruleSet, downloads: try Downloads(ruleSet, ledger, settings, logger),
                stored: StoredAttachments(
                    AttachmentDigests(
                        gateway, contact, logger, unreadable: "an attachment can't be compared, so it is written again")
                ),
                database: try (run?.ledger ?? ledger).databaseIdentity() ?? "\(gateway.url)"),
            targets: TargetContext(
                gateway: gateway, siblings: try Self.siblings(of: gateway, ruleSet), pace: WritePace(),
                locks: KeyedLock(), busy: BusyDocuments(mode.guards),
                search: RelatedSearch.Shared(SharedSearch(pass))),
            outputs: settings.isDryRun ? nil : try LineOutputs(ruleSet.emitTargets, logger: logger),
            webhooks: settings.isDryRun ? nil : try WebhookSender(ruleSet, settings, logger),
            conflicts: ruleSet.resolvesConflicts
                ? ConflictResolver(
                    gateway: gateway, retries: settings.retries, pauses: settings.pauses, logger: logger) : nil,
            mode: mode, settings: settings, progress: progress, allowance: ChangeAllowance(limit: settings.changeLimit),
            logger: logger)
    }

    /// Checks what can be wrong with these rules on this gateway, before there is a state. Changes nothing.
    ///
    /// - Throws: `RunError`: `.badConfiguration` or `.cannotCreate`, as ``init(gateway:ruleSet:ledger:start:mode:timers:counters:counts:settings:logger:)``.
    package static func check(
        _ ruleSet: RuleSet, on gateway: Gateway, _ settings: Settings, _ logger: Logger
    ) throws {
        try prepareExpiry(of: ruleSet, gateway)
        _ = try siblings(of: gateway, ruleSet)
        if !settings.isDryRun { try ruleSet.checkOutsideFiles(logger) }
    }

    /// Rules that set or test an expiry must know the current one.
    ///
    /// - Throws: `RunError` if the server has no expiry.
    private static func prepareExpiry(of ruleSet: RuleSet, _ gateway: Gateway) throws {
        if ruleSet.readsExpiry { gateway.keepExpiry() }
        if let rule = ruleSet.expiringRule, !gateway.dialect.expiresDocuments {
            throw RunError(
                .badConfiguration,
                "rule '\(rule)' has 'expire', but on \(gateway.dialect.name) documents don't expire; remove the action, "
                    + "or write a date with merge and delete due documents with an 'at:' rule")
        }
    }

    private static func siblings(of gateway: Gateway, _ ruleSet: RuleSet) throws(RunError) -> [String: Gateway] {
        var siblings: [String: Gateway] = [:]
        for name in ruleSet.otherKeyspaces {
            do throws(GatewayURLError) { siblings[name] = gateway.sibling(try KeyspaceName(name)) } catch {
                throw RunError(.badConfiguration, "a rule's put: \(error)")
            }
        }
        return siblings
    }

    /// Reads, writes and saves checkpoints concurrently, until the source has ended and everything that it enqueued is
    /// settled.
    ///
    /// - Parameters:
    ///   - source: Documents that it has enqueued before a graceful shutdown are finished.
    ///   - backgroundTasks: The background tasks of this process.
    ///   - companions: Tasks that run until the source and the background tasks have ended, or until a graceful
    ///     shutdown that the source does not notice itself. If one throws, the run ends with its error.
    /// - Throws: Errors of the source and the background tasks, `RunError`, ``StateError``, `CancellationError`. The
    ///   checkpoint still covers all finished changes.
    package func run(
        from source: any WorkSource, backgroundTasks: [BackgroundTask.Factory] = [],
        companions: [@Sendable () async throws -> Void] = []
    ) async throws {
        do {
            try await work {
                guard !source.handlesShutdown else {
                    return try await runWithCompanions(companions) { try await source.run(into: self) }
                }
                let runner = BackgroundTaskRunner(
                    factories: backgroundTasks, flow: flow, endsOnceSettled: mode.endsOnceSettled)
                let stoppable = companions.map { companion -> @Sendable () async throws -> Void in
                    { try await runUntilStopped(companion) }
                }
                try await runWithCompanions(stoppable) {
                    try await runner.run { try await readUntilStopped { try await source.run(into: self) } }
                }
            }
        } catch {
            // Save the progress, whatever else went wrong.
            try? await saveCheckpoint()
            await close()
            throw error
        }
        try await saveCheckpoint()
        await close()
    }

    /// Runs all tasks until the writers have nothing left, or until a task fails.
    private func work(_ read: @escaping @Sendable () async throws -> Void) async throws {
        let concurrentTasks: [@Sendable () async throws -> Void] = [
            keepCheckpoint, resumePostponed, context.state.deadLetterLog.reportPeriodically,
            {
                await flow.queue.gather(true)
                try await read()
                await flow.queue.finish()
            },
        ]
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in concurrentTasks {
                group.addTask {
                    try await task()
                    return false
                }
            }
            group.addTask {
                try await write()
                return true
            }
            do { while let isWritten = try await group.next(), !isWritten {} } catch {
                await abandon()
                throw error
            }
            await abandon()
            group.cancelAll()
        }
    }

    /// Calls `body` while the companions run. The first error ends all of them.
    private func runWithCompanions(
        _ companions: [@Sendable () async throws -> Void],
        whileRunning body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await body()
                return true
            }
            for companion in companions {
                group.addTask {
                    try await companion()
                    return false
                }
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next(), !isOver {}
        }
    }

    private func runUntilStopped(_ companion: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown(companion) } catch is CancellationError where !Task.isCancelled {}
    }

    private func readUntilStopped(_ read: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown(read) } catch is CancellationError where !Task.isCancelled {
            logger.info("finishing the current work")
            if InjectedFault.passingStop.isActive, let read = await progress.facts.position {
                try await ledger.saveCheckpoint(read)
            }
            await progress.note(.stopping)
        }
    }

    // MARK: - Totals

    /// - Parameter isConcurrentWithFeed: Whether it works while the feed is read. Then a total that is written too often
    ///   waits.
    package func makeTotalsWriter(_ counts: Counts, isConcurrentWithFeed: Bool) -> TotalsWriter {
        TotalsWriter(
            counts: counts, ledger: ledger, queue: flow.queue, home: context.gateway.url.keyspace,
            deadLettered: context.state.deadLettered, mode: mode, settings: settings, logger: logger,
            intake: makeIntake(),
            targets: TargetWriter(
                ledger: ledger, progress: progress, limits: settings.limits,
                senders: [nil: context.makeSender(context.gateway)], locks: context.targets.locks,
                busy: isConcurrentWithFeed ? context.targets.busy : BusyDocuments(nil), budget: flow.budget,
                decider: mode.endsOnceSettled ? context.rules.set.makeDecider() : nil, logger: logger))
    }

    /// The shortest time between two writes of totals.
    package var totalsInterval: Duration {
        get async {
            let isFollowing = await progress.facts.phase == .following
            return isFollowing ? settings.intervals.totals : settings.intervals.catchUpTotals
        }
    }

    /// Whether rules need the members of tombstones.
    package var decidesDeletions: Bool { context.rules.set.decidesDeletions }
    /// The names of the rules that are left out.
    package var pausedRules: Set<String> { context.rules.set.paused }

    /// Whether rules need to know which documents are no longer visible to this user.
    package var tracksMatches: Bool { context.rules.set.comparing.contains(where: \.tracksMatches) }

    /// Whether rules need the leaf revisions of changed documents.
    package var resolvesConflicts: Bool { context.conflicts != nil }

    /// Call this when a feed has been read to its end, and when it may have new changes again.
    package func noteCaughtUp(_ isCaughtUp: Bool) async {
        await progress.note(isCaughtUp ? .following : .catchingUp)
        await flow.queue.gather(!isCaughtUp)
    }

    /// The input for one task that delivers changes in the order of the feed, or documents.
    ///
    /// - Parameter decider: Applies some of the rules; nil: all.
    package func makeIntake(decider: Decider? = nil) -> Intake {
        let (ruleSet, state) = (context.rules.set, context.state)
        let filter = ChangeFilter(
            decider: decider ?? ruleSet.makeDecider(), decidesTombstones: mode.decidesChanges,
            deadLettered: ruleSet.isPartial ? DeadLetteredDocuments() : state.deadLettered,
            timers: ruleSet.isPartial || !mode.decidesChanges ? nil : state.timers,
            lastSeen: mode.decidesChanges ? state.lastSeen : nil,
            interruptions: state.interruptions,
            namesLeaves: resolvesConflicts && mode.decidesChanges,
            // The writers use the slots before it.
            note: state.interruptions.makeNote(DecisionNoteFile.slots - 1))
        return Intake(
            filter: filter, flow: flow, progress: progress, ledger: ledger, deadLettered: state.deadLettered,
            deadLetterLog: state.deadLetterLog, mode: mode, settings: settings,
            counts: state.counts.flatMap { $0.requestsRecounts ? nil : $0 },
            unchanged: ledger.isShared ? nil : filter.lastSeen.map(UnchangedDocuments.init))
    }

    /// What a source with contents calls before each request, after it has delivered the earlier answers. Otherwise a slow
    /// answer could bring an older revision of a document that was read meanwhile.
    package var noteRequest: @Sendable () async -> Void {
        { [queue = flow.queue] in await queue.noteRequest() }
    }

    /// Notes which of these documents hold totals and were changed by another client.
    package func markChangedTotals(among documents: [(id: DocumentID, revision: RevisionID?)]) async throws(StateError)
    {
        try await context.state.counts?.markChangedTotals(among: documents)
    }

    /// Returns once everything that was enqueued is settled, or the run is aborted.
    ///
    /// - Returns: False if it was aborted.
    package func waitUntilIdle() async -> Bool { await flow.queue.waitUntilIdle() }

    /// Enqueues changes that are not from this run's feed. Returns once there is room for more.
    package func take(_ candidates: [Candidate]) async throws {
        await progress.count { $0.changes += candidates.count }
        try await flow.submit(candidates, try await context.state.deadLettered.newest(in: ledger))
    }

    /// Writes until the queue is finished and all its candidates are settled.
    private func write() async throws {
        // The order of output, and the choice of documents under a limit, must not depend on timing.
        let writers = settings.isDryRun || settings.changeLimit != nil ? 1 : settings.capacity.writers
        try await withThrowingTaskGroup { group in
            for number in 0..<writers {
                group.addTask {
                    do { try await DeliveryWriter(context: context, number: number).run() } catch {
                        await flow.queue.abort()
                        throw error
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Makes postponed candidates ready when they are due, until the queue is aborted or the run stops.
    private func resumePostponed() async throws {
        do {
            while let due = await flow.queue.nextDue() {
                try await settings.pauses.wait(until: due)
                await flow.queue.resume(dueBy: .now)
            }
        } catch is RunIsStopping {
            await flow.queue.stopPostponing()
        }
    }

    /// Saves checkpoints as work is finished, until the run's progress ends. Sleeps while there is no progress.
    ///
    /// Each save waits for the next finished work, so that one write to the disk covers it, too.
    private func keepCheckpoint() async throws {
        while mode.keepsCheckpoint, await progress.waitUntilCheckpointIsDue() {
            let isFollowing = await progress.facts.phase == .following
            try await Task.sleep(
                for: isFollowing ? settings.intervals.followingCheckpoint : settings.intervals.checkpoint)
            try await saveCheckpoint()
        }
    }

    /// Saves a checkpoint if the safe sequence has moved. Any task may call.
    ///
    /// The start is not saved before anything was read from it: the gateway may not even know that sequence.
    package func saveCheckpoint() async throws {
        guard mode.keepsCheckpoint else { return }
        // Serialized, so that an older sequence never overwrites a newer one.
        try await saving.withLock {
            guard let sequence = await progress.unsaved else { return }
            try await ledger.saveCheckpoint(sequence)
            CrashPoint.checkpointSaved.pass()
            await progress.noteSaved(sequence)
        }
    }

    /// Drops unfinished work, so that every task of the pipeline ends.
    private func abandon() async {
        await flow.queue.abort()
        await progress.end()
    }

    private func close() async {
        await context.rules.downloads?.close()
        await context.webhooks?.close()
        context.state.deadLetterLog.finish()
        context.state.interruptions.close()
    }

    /// The state of the run, for reports.
    package var facts: RunFacts {
        get async {
            var facts = await progress.facts
            (facts.bytesInFlight, facts.documentsInFlight) = await flow.budget.inUse
            facts.writeRate = await context.targets.pace.limit
            facts.outage = settings.retries.outage.status
            facts.receivers = settings.outside.receivers.status
            return facts
        }
    }
}
