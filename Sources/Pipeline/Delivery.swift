package import DocumentFlow
internal import Encodings
package import GatewayClient
package import Logging
package import Rules

/// The pipeline of a run: rules, writes, ledger. Built once, fed by whoever has changes or documents to bring.
package struct Delivery: Sendable {
    package struct Settings: Sendable {
        /// Bulk requests under way at once.
        package var writers = 4
        /// Bytes of documents on their way at once.
        package var memoryBudget = 24 << 20
        /// Documents on their way at once: as many as the writers can send. Small ones cost more than their bytes.
        package var documentBudget = 1000
        package var limits = BulkWriter.Limits()
        package var retries = RetryPolicy.Settings()
        /// Stops the run when too much goes wrong. Nil: it never does.
        package var errorLimit: ErrorLimit?
        /// How many documents may be changed. Nil: any number.
        package var changeLimit: Int?
        /// Ends, or slows down, what writes the same documents over and over. Nil for a pass over documents, which can't.
        package var effectLimits: EffectLimits?
        /// Whether it is a pass over documents, which looks again at what an earlier one wrote.
        package var isPass = false
        /// Whether documents that rules put are decided in the same run, without waiting for the feed to bring them.
        package var decidesPuts = false
        /// Set for a dry run: nothing is written, what would be is shown here.
        package var preview: Preview?
        /// What programs know as `$now`: seconds since 1970.
        package var now: @Sendable () -> Int = { Timestamp.secondsNow }
        /// Whether a later run is to go on where this one ends. A full pass has no such place.
        package var savesCheckpoint = true
        /// How writers wait before they try again; a run that can be stopped ends them early.
        package var pauses = Pauses()
        /// The options by which the commands that the log advises find the state of this run.
        package var stateOptions = ""
        /// How long finished work may wait for its checkpoint. Killed in between, it is looked at again.
        package var checkpointInterval: Duration = .seconds(1)

        package init() {}
    }

    package let progress: RunProgress
    package let allowance: ChangeAllowance
    private let gateway: Gateway
    private let siblings: [String: Gateway]
    private let ruleSet: RuleSet
    private let ledger: Ledger
    private let settings: Settings
    private let logger: Logger
    private let letterLog: DeadLetterLog
    private let lettered: DocumentsWithLetters
    private let interruptions: InterruptedDecisions
    private let queue = CandidateQueue()
    private let budget: MemoryBudget

    /// - Parameters:
    ///   - start: Where the feed is read from; any sequence if it is no feed.
    ///   - counters: What the run has done before.
    /// - Throws: ``RunFailure`` if a rule writes to what is no keyspace. ``StateError``.
    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, start: SequenceID = .start,
        counters: RunCounters = RunCounters(), settings: Settings, logger: Logger
    ) async throws {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.settings = settings
        self.logger = logger
        siblings = try Self.siblings(of: gateway, ruleSet)
        progress = RunProgress(start: start, counters: counters)
        allowance = ChangeAllowance(limit: settings.changeLimit)
        letterLog = DeadLetterLog(
            logger, isDryRun: settings.preview != nil, stateOptions: settings.stateOptions)
        lettered = DocumentsWithLetters(
            try ledger.documentsWithDeadLetters(limit: DocumentsWithLetters.limit),
            newest: try ledger.newestDeadLetter())
        interruptions = try await ledger.interruptedDecisions()
        budget = MemoryBudget(bytes: settings.memoryBudget, documents: settings.documentBudget)
    }

    private static func siblings(of gateway: Gateway, _ ruleSet: RuleSet) throws(RunFailure) -> [String: Gateway] {
        var siblings: [String: Gateway] = [:]
        for name in ruleSet.otherKeyspaces {
            do throws(GatewayURLFault) { siblings[name] = gateway.sibling(try Keyspace(name)) } catch {
                throw RunFailure(.badConfiguration, "a rule's put: \(error)")
            }
        }
        return siblings
    }

    /// A way in for one task that brings changes in the order of the feed, or documents.
    package func makeIntake() -> Intake {
        let filter = ChangeFilter(
            decider: ruleSet.makeDecider(), decidesTombstones: !settings.isPass,
            lettered: ruleSet.isPartial ? DocumentsWithLetters() : lettered, interruptions: interruptions,
            note: interruptions.makeNote(DecisionNoteFile.slots - 1))
        return Intake(delivery: self, filter: filter)
    }

    package struct Intake {
        fileprivate let delivery: Delivery
        fileprivate let filter: ChangeFilter

        /// Takes a stretch of the feed and returns once there is room for the next.
        ///
        /// - Throws: ``StateError`` if a dead letter can't be written, `CancellationError` while it waits for room: the
        ///   stretch is taken in then. ``RunFailure`` if too much has gone wrong.
        package func take(_ rows: ChangesBatch.SubSequence?, reached: SequenceID) async throws {
            let filtered = rows.map(filter.filter) ?? ChangeFilter.Result()
            try await delivery.accept(
                filtered, changes: rows?.count ?? 0, bytes: rows?.byteCount ?? 0, reached: reached)
        }

        /// The same for documents that come from no feed.
        package func take(_ documents: DocumentBatch) async throws {
            let bytes = documents.reduce(0) { $0 + $1.byteCount }
            try await delivery.accept(filter.filter(documents), documents: documents.count, bytes: bytes)
        }

        /// The same for documents that were dead-lettered. Those that find their end lose their letters.
        package func take(_ documents: [RetriedDocument]) async throws {
            let bytes = documents.reduce(0) { $0 + $1.byteCount }
            try await delivery.accept(filter.filter(documents), documents: documents.count, bytes: bytes)
        }
    }

    private func accept(
        _ filtered: ChangeFilter.Result, changes: Int, bytes: Int, reached: SequenceID
    ) async throws {
        let newestLetter = lettered.newest
        try await deadLetter(filtered.deadLetters)
        let matches = filtered.matches.compactMap { match in match.sequence.map { (match.preceding, $0) } }
        let tickets = await progress.advance(through: matches, to: reached, changes: changes, bytes: bytes)
        try await submit(zip(filtered.matches, tickets).map { $0.candidate(ticket: $1) }, newestLetter)
    }

    private func accept(_ filtered: ChangeFilter.Result, documents: Int, bytes: Int) async throws {
        let newestLetter = lettered.newest
        try await deadLetter(filtered.deadLetters)
        await progress.count { counters in
            counters.changes += documents
            counters.bytesIn += bytes
        }
        try await submit(filtered.matches.map { $0.candidate(ticket: nil) }, newestLetter)
    }

    private func accept(_ filtered: ChangeFilter.RetryResult, documents: Int, bytes: Int) async throws {
        let newestLetter = lettered.newest
        try await deadLetter(filtered.deadLetters)
        try await ledger.drop(filtered.settled)
        await progress.count { counters in
            counters.changes += documents
            counters.bytesIn += bytes
            counters.deadLetters += filtered.untouched
        }
        try await submit(filtered.candidates, newestLetter)
    }

    private func deadLetter(_ letters: [DeadLetter]) async throws {
        guard !letters.isEmpty else { return }
        let letters = Array(letters.prefix(await progress.admit(letters.count, settings.errorLimit)))
        letterLog.report(letters)
        lettered.insert(letters, numbers: try await ledger.keep(letters))
        try await progress.check(settings.errorLimit)
    }

    /// - Parameter newestLetter: The highest number of a letter when the candidates were read.
    private func submit(_ candidates: [Candidate], _ newestLetter: Int) async throws {
        guard !candidates.isEmpty else { return }
        let candidates = candidates.map { candidate in
            var candidate = candidate
            candidate.newestLetter = newestLetter
            return candidate
        }
        await budget.take(bytes: candidates.reduce(0) { $0 + $1.cost }, documents: candidates.count)
        let freed = await queue.submit(candidates)
        await budget.giveBack(bytes: freed.bytes, documents: freed.documents)
        try await budget.room()
    }

    /// Writes until the queue is finished and everything taken in is answered for.
    private func write() async throws {
        let shared = BulkWriter.Shared(
            gateway: gateway, siblings: siblings, ruleSet: ruleSet, queue: queue, ledger: ledger, progress: progress,
            budget: budget, allowance: allowance, pace: WritePace(), locks: KeyedLock(),
            busy: BusyDocuments(settings.effectLimits), lettered: lettered, letterLog: letterLog,
            interruptions: interruptions, settings: settings, logger: logger)
        // What is shown, and which documents a limit lets through, must not depend on who is faster.
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

    /// Whatever brings changes or documents, writers and checkpoints side by side, until there is nothing more to bring
    /// and all of it is answered for.
    ///
    /// - Parameter read: Brings them, through ``makeIntake()``.
    /// - Throws: What `read` throws, ``RunFailure``, ``StateError``, `CancellationError`. What is finished is in the
    ///   checkpoint all the same.
    package func run(_ read: @escaping @Sendable () async throws -> Void) async throws {
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
                    await letterLog.keepReporting()
                    return .telling
                }
                group.addTask {
                    try await read()
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
            // What is finished is finished, whatever went wrong beside it.
            try? await saveCheckpoint()
            await close()
            throw error
        }
        try await saveCheckpoint()
        await close()
    }

    private enum Stage { case reading, writing, postponing, telling, checkpoint }

    /// Lets candidates go on whose turn has come, until nothing is written any more or the run is to stop.
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

    /// Saves checkpoints as the safe sequence moves, until the progress is ended. Sleeps while nothing moves.
    private func keepCheckpoint() async throws {
        while settings.savesCheckpoint, let sequence = await progress.nextUnsaved() {
            try await ledger.saveCheckpoint(sequence)
            CrashPoint.checkpointSaved.pass()
            await progress.noteSaved(sequence)
            try await Task.sleep(for: settings.checkpointInterval)
        }
    }

    private func close() async {
        letterLog.finish()
        interruptions.close()
    }

    /// Lets go of what is not finished, so that every task of the pipeline ends.
    private func abandon() async {
        await queue.abort()
        await progress.end()
    }

    /// Saves the last checkpoint, if anything has moved. To be called when nothing is under way any more.
    ///
    /// A start that nothing was read from is no checkpoint: the gateway may not even know that sequence.
    private func saveCheckpoint() async throws {
        guard settings.savesCheckpoint, let sequence = await progress.unsaved else { return }
        try await ledger.saveCheckpoint(sequence)
        await progress.noteSaved(sequence)
    }
}
