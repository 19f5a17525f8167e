internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules
internal import ServiceLifecycle

/// The pipeline of a run: rules, writes, ledger. The caller feeds it changes or documents.
package struct Delivery: Sendable {
    /// Counters and safe sequence, for reports.
    let progress: RunProgress
    /// Readers of documents stop once it is exhausted.
    let allowance: ChangeAllowance
    private let gateway: Gateway
    private let siblings: [String: Gateway]
    private let ruleSet: RuleSet
    let ledger: Ledger
    private let settings: Settings
    private let logger: Logger
    private let deadLetterLog: DeadLetterLog
    private let deadLettered: DeadLetteredDocuments
    private let interruptions: InterruptedDecisions
    private let queue = CandidateQueue()
    private let budget: MemoryBudget
    private let pace = WritePace()

    /// - Parameters:
    ///   - start: Where the feed is read from; any sequence without a feed.
    ///   - counters: Counts of the run so far, if it begins again after a reset of the database.
    /// - Throws: ``RunError`` with `.badConfiguration` if a rule writes to an invalid keyspace; ``StateError``.
    init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, start: SequenceID = .start,
        counters: RunCounters = RunCounters(), settings: Settings, logger: Logger
    ) async throws {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.settings = settings
        self.logger = logger
        siblings = try Self.siblings(of: gateway, ruleSet)
        progress = RunProgress(start: start, counters: counters, observer: settings.observer)
        allowance = ChangeAllowance(limit: settings.changeLimit)
        deadLetterLog = DeadLetterLog(
            logger, isDryRun: settings.preview != nil, stateOptions: settings.stateOptions)
        deadLettered = DeadLetteredDocuments(
            try ledger.documentsWithDeadLetters(limit: DeadLetteredDocuments.limit),
            newest: try ledger.newestDeadLetter())
        interruptions = try await ledger.interruptedDecisions()
        budget = MemoryBudget(settings.memory, documents: settings.documentBudget)
    }

    private static func siblings(of gateway: Gateway, _ ruleSet: RuleSet) throws(RunError) -> [String: Gateway] {
        var siblings: [String: Gateway] = [:]
        for name in ruleSet.otherKeyspaces {
            do throws(GatewayURLError) { siblings[name] = gateway.sibling(try Keyspace(name)) } catch {
                throw RunError(.badConfiguration, "a rule's put: \(error)")
            }
        }
        return siblings
    }

    /// Where the run stands.
    var facts: RunFacts {
        get async {
            var facts = await progress.facts
            (facts.bytesInFlight, facts.documentsInFlight) = await budget.inUse
            facts.writeRate = await pace.limit
            facts.outage = settings.retries.outage.standing
            return facts
        }
    }

    /// The input for one task that delivers changes in the order of the feed, or documents.
    func makeIntake() -> Intake {
        let filter = ChangeFilter(
            decider: ruleSet.makeDecider(), decidesTombstones: !settings.isPass,
            deadLettered: ruleSet.isPartial ? DeadLetteredDocuments() : deadLettered, interruptions: interruptions,
            note: interruptions.makeNote(DecisionNoteFile.slots - 1))
        return Intake(delivery: self, filter: filter)
    }

    /// Takes changes or documents from one task. Not to be shared: it filters with a decider of its own.
    struct Intake {
        fileprivate let delivery: Delivery
        fileprivate let filter: ChangeFilter

        /// Takes a batch of the feed and returns once there is room for the next.
        ///
        /// - Throws: ``StateError`` if a dead letter can't be written; `CancellationError` while it waits for room,
        ///   after it has taken the batch; ``RunError`` if too many documents failed.
        func take(_ rows: ChangesBatch.SubSequence?, reached: SequenceID) async throws {
            let filtered = rows.map(filter.filter) ?? ChangeFilter.Result()
            try await delivery.accept(
                filtered, changes: rows?.count ?? 0, bytes: rows?.byteCount ?? 0, reached: reached)
        }

        /// The same for documents that are not from a feed.
        func take(_ documents: DocumentBatch) async throws {
            let bytes = documents.reduce(0) { $0 + $1.byteCount }
            try await delivery.accept(filter.filter(documents), documents: documents.count, bytes: bytes)
        }

        /// The same for dead-lettered documents. Their dead letters are dropped once they are written or need no
        /// change.
        func take(_ documents: [RetriedDocument]) async throws {
            let bytes = documents.reduce(0) { $0 + $1.byteCount }
            try await delivery.accept(filter.filter(documents), documents: documents.count, bytes: bytes)
        }
    }

    private func accept(
        _ filtered: ChangeFilter.Result, changes: Int, bytes: Int, reached: SequenceID
    ) async throws {
        let newestDeadLetter = deadLettered.newest
        try await deadLetter(filtered.deadLetters)
        let matches = filtered.matches.compactMap { match in match.sequence.map { (match.preceding, $0) } }
        let tickets = await progress.advance(through: matches, to: reached, changes: changes, bytes: bytes)
        try await submit(zip(filtered.matches, tickets).map { $0.candidate(ticket: $1) }, newestDeadLetter)
    }

    private func accept(_ filtered: ChangeFilter.Result, documents: Int, bytes: Int) async throws {
        let newestDeadLetter = deadLettered.newest
        try await deadLetter(filtered.deadLetters)
        await progress.count { counters in
            counters.changes += documents
            counters.bytesIn += bytes
        }
        try await submit(filtered.matches.map { $0.candidate(ticket: nil) }, newestDeadLetter)
    }

    private func accept(_ filtered: ChangeFilter.RetryResult, documents: Int, bytes: Int) async throws {
        let newestDeadLetter = deadLettered.newest
        try await deadLetter(filtered.deadLetters)
        try await ledger.drop(filtered.settled)
        await progress.count { counters in
            counters.changes += documents
            counters.bytesIn += bytes
            counters.deadLetters += filtered.untouched
        }
        try await submit(filtered.candidates, newestDeadLetter)
    }

    private func deadLetter(_ deadLetters: [DeadLetter]) async throws {
        guard !deadLetters.isEmpty else { return }
        let deadLetters = Array(deadLetters.prefix(await progress.admit(deadLetters.count, settings.errorLimit)))
        deadLetterLog.report(deadLetters)
        settings.observe(deadLetters)
        deadLettered.insert(deadLetters, numbers: try await ledger.keep(deadLetters))
        try await progress.check(settings.errorLimit)
    }

    /// - Parameter newestDeadLetter: The highest number of a dead letter when the candidates were read.
    private func submit(_ candidates: [Candidate], _ newestDeadLetter: Int) async throws {
        guard !candidates.isEmpty else { return }
        let candidates = candidates.map { candidate in
            var candidate = candidate
            candidate.newestDeadLetter = newestDeadLetter
            return candidate
        }
        await budget.take(bytes: candidates.reduce(0) { $0 + $1.cost }, documents: candidates.count)
        let freed = await queue.submit(candidates)
        await budget.giveBack(bytes: freed.bytes, documents: freed.documents)
        try await budget.room()
    }

    /// Writes until the queue is finished and everything taken in is settled.
    private func write() async throws {
        let shared = BulkWriter.Shared(
            gateway: gateway, siblings: siblings, ruleSet: ruleSet, queue: queue, ledger: ledger, progress: progress,
            budget: budget, allowance: allowance, pace: pace, locks: KeyedLock(),
            busy: BusyDocuments(settings.effectLimits), deadLettered: deadLettered, deadLetterLog: deadLetterLog,
            interruptions: interruptions, settings: settings, logger: logger)
        // The order of output, and the choice of documents under a limit, must not depend on timing.
        let writers = settings.preview == nil && settings.changeLimit == nil ? settings.writers : 1
        try await withThrowingTaskGroup { group in
            for number in 0..<writers {
                group.addTask {
                    do { try await BulkWriter(shared: shared, number: number).run() } catch {
                        await queue.abort()
                        throw error
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs reading, writing and checkpoints concurrently, until `read` has returned and all that it delivered is
    /// settled.
    ///
    /// - Parameter read: Delivers changes or documents through ``makeIntake()``. Cancelled when a graceful shutdown
    ///   begins; what it has delivered by then is finished.
    /// - Throws: What `read` throws, ``RunError``, ``StateError``, `CancellationError`. The checkpoint still covers
    ///   what is finished.
    func run(_ read: @escaping @Sendable () async throws -> Void) async throws {
        do {
            try await withThrowingTaskGroup(of: Stage.self) { group in
                group.addTask {
                    try await keepCheckpoint()
                    return .checkpoint
                }
                group.addTask {
                    try await write()
                    return .writing
                }
                group.addTask {
                    try await resumePostponed()
                    return .postponing
                }
                group.addTask {
                    await deadLetterLog.keepReporting()
                    return .loggingDeadLetters
                }
                group.addTask {
                    try await readUntilStopped(read)
                    await queue.finish()
                    return .reading
                }
                do {
                    while let stage = try await group.next(), stage != .writing {}
                } catch {
                    await abandon()
                    throw error
                }
                await abandon()
                group.cancelAll()
            }
        } catch {
            // Save what is finished, whatever else went wrong.
            try? await saveCheckpoint()
            await close()
            throw error
        }
        try await saveCheckpoint()
        await close()
    }

    private enum Stage { case reading, writing, postponing, loggingDeadLetters, checkpoint }

    private func readUntilStopped(_ read: @escaping @Sendable () async throws -> Void) async throws {
        do { try await cancelWhenGracefulShutdown(read) } catch is CancellationError where !Task.isCancelled {
            logger.info("finishing the work under way")
            await progress.note(.stopping)
        }
    }

    /// Makes postponed candidates ready when they are due, until the queue is aborted or the run is to stop.
    private func resumePostponed() async throws {
        do {
            while let due = await queue.nextDue() {
                try await settings.pauses.wait(until: due)
                await queue.resume(dueBy: .now)
            }
        } catch is RunIsStopping {
            await queue.stopPostponing()
        }
    }

    /// Saves checkpoints as the safe sequence moves, until the run's progress ends. Sleeps while nothing moves.
    private func keepCheckpoint() async throws {
        while settings.savesCheckpoint, let sequence = await progress.nextUnsaved() {
            try await ledger.saveCheckpoint(sequence)
            CrashPoint.checkpointSaved.pass()
            await progress.noteSaved(sequence)
            try await Task.sleep(for: settings.checkpointInterval)
        }
    }

    private func close() async {
        deadLetterLog.finish()
        interruptions.close()
    }

    /// Drops what is not finished, so that every task of the pipeline ends.
    private func abandon() async {
        await queue.abort()
        await progress.end()
    }

    /// Saves the last checkpoint if the safe sequence has moved. To be called when nothing is under way any more.
    ///
    /// A start from which nothing was read is not saved: the gateway may not even know that sequence.
    private func saveCheckpoint() async throws {
        guard settings.savesCheckpoint, let sequence = await progress.unsaved else { return }
        try await ledger.saveCheckpoint(sequence)
        await progress.noteSaved(sequence)
    }
}
