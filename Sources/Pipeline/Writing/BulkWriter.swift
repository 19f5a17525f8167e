internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Takes candidates, decides, writes what the rules want, and settles each candidate.
///
/// One of several that share a queue; each has one request under way. A candidate ends in one of four ways: written,
/// needing no change, an own revision, or dead-lettered. Its tickets are finished after that is recorded on disk, so a
/// crash anywhere repeats work and loses none.
package struct BulkWriter: Sendable {
    /// The size of requests, and the number of attempts.
    package struct Limits: Sendable {
        /// The most documents in one request.
        package var documents = 250
        /// The most bytes in one request: 4 MiB, attachments as base64 included. A larger document is sent alone.
        package var bytes = 4 << 20
        /// How many writes of a document may be refused as conflicts although no other revision is there.
        package var attempts = 10

        /// Limits that Sync Gateway and CouchDB take with their default settings.
        package init() {}

        /// Groups documents into requests, by count and by bytes, in order.
        func requests(_ written: [BulkDocument]) -> [ArraySlice<BulkDocument>] {
            written.grouped(count: documents, bytes: bytes) { $0.byteCount }
        }
    }

    /// What the writers of a run share.
    struct Shared: Sendable {
        let gateway: Gateway
        /// Other keyspaces that rules write to.
        let siblings: [String: Gateway]
        let ruleSet: RuleSet
        let queue: CandidateQueue
        let ledger: Ledger
        let progress: RunProgress
        let budget: MemoryBudget
        let allowance: ChangeAllowance
        let pace: WritePace
        let locks: KeyedLock<DocumentPlace>
        let busy: BusyDocuments
        let deadLettered: DeadLetteredDocuments
        let deadLetterLog: DeadLetterLog
        let interruptions: InterruptedDecisions
        let settings: Delivery.Settings
        let logger: Logger
    }

    let shared: Shared
    /// The number of this writer, from 0.
    let number: Int

    var queue: CandidateQueue { shared.queue }
    var ledger: Ledger { shared.ledger }
    var progress: RunProgress { shared.progress }
    var settings: Delivery.Settings { shared.settings }
    var logger: Logger { shared.logger }
    var limits: Limits { shared.settings.limits }

    /// The state of one call of ``run()``.
    struct WriterContext {
        let planner: Planner
        var sender: BulkSender
        var others: OtherDocuments
        var previewed = PreviewedPuts()
        /// Whether any rule writes other documents.
        let mayPut: Bool
        /// For a machine that can't run jq programs at the moment.
        private var retrier: Retrier

        init(planner: Planner, sender: BulkSender, others: OtherDocuments, retrier: Retrier) {
            self.planner = planner
            mayPut = planner.ruleSet.mayPut
            self.sender = sender
            self.others = others
            self.retrier = retrier
        }

        /// - Throws: ``RunError`` if a one-shot job has waited long enough.
        mutating func pause(before postponed: [Candidate]) async throws {
            guard !postponed.isEmpty else { return retrier.succeed() }
            let error = GatewayError(.unavailable, "no process for jq programs can be started")
            try await retrier.wait(after: error, "documents can't be decided now; trying again")
        }
    }

    /// Works until the queue is finished and empty.
    ///
    /// Cancelling aborts the request under way: a later run sees its documents again. The same goes for candidates that
    /// wait for a retry when the run is to stop.
    ///
    /// - Throws: ``RunError``, ``StateError``, `CancellationError`.
    func run() async throws {
        var context = makeContext()
        do {
            while true {
                var open = await queue.take(limit: limits.documents, byteLimit: limits.bytes)
                if open.isEmpty { return }
                while !open.isEmpty { open = try await decideAndWrite(&open, &context) }
            }
        } catch is RunIsStopping {
            await queue.abort()
        }
    }

    private func makeContext() -> WriterContext {
        let policy = RetryPolicy(settings.retries, hasSucceeded: true)
        func sender(_ gateway: Gateway) -> BulkSender {
            BulkSender(
                gateway: gateway, progress: progress, pace: shared.pace, pauses: settings.pauses, policy: policy,
                logger: logger)
        }
        var senders: [String?: BulkSender] = [nil: sender(shared.gateway)]
        for (keyspace, sibling) in shared.siblings { senders[keyspace] = sender(sibling) }
        return WriterContext(
            planner: Planner(
                ruleSet: shared.ruleSet, decider: shared.ruleSet.makeDecider(),
                interruptions: shared.interruptions, note: shared.interruptions.makeNote(number),
                countsEffects: settings.effectLimits != nil, now: settings.now),
            sender: sender(shared.gateway),
            others: OtherDocuments(
                ledger: ledger, progress: progress, limits: limits, senders: senders, locks: shared.locks,
                busy: shared.busy),
            retrier: Retrier(policy, pauses: settings.pauses, logger: logger) { [progress] in
                await progress.count { $0.retries += 1 }
            })
    }

    /// Decides and writes candidates. Empties `open`, so that what was read is freed before anything is sent.
    ///
    /// - Returns: Those that are not settled yet.
    private func decideAndWrite(_ open: inout [Candidate], _ context: inout WriterContext) async throws -> [Candidate] {
        let unread = open.filter(\.isUnread)
        if !unread.isEmpty {
            open.removeAll(where: \.isUnread)
            open += try await readAgain(unread, sender: &context.sender)
        }
        var undecided: [Candidate] = []
        let decided = try await decide(&open, &context, &undecided)
        let again = try await write(decided.writes, &context)
        if !undecided.isEmpty {
            logger.warning("programs can't be run now; trying again", metadata: ["documents": "\(undecided.count)"])
        }
        try await context.pause(before: undecided)
        return again + decided.again + undecided
    }

    /// - Returns: The candidates to decide again, after their documents have been read again.
    private func write(_ writes: [Planner.Write], _ context: inout WriterContext) async throws -> [Candidate] {
        var again: [Candidate] = []
        for request in limits.requests(writes.map { $0.document }) {
            try await context.sender.send(request) { answered, outcomes in
                CrashPoint.written.pass()
                var settled = Settlement()
                for (index, outcome) in zip(answered, outcomes) {
                    switch settled.record(outcome, of: writes[index].candidate, attemptLimit: limits.attempts) {
                    case .settled: logWritten(writes[index].candidate, outcome)
                    case .decideAgain(var candidate):
                        // A tombstone that the gateway left undecided is written again unchanged.
                        if outcome == .conflict || !candidate.isDeleted { candidate.dropContent() }
                        again.append(candidate)
                    }
                }
                await shared.busy.noteWrites(settled.ownRevisions.map { DocumentPlace(keyspace: nil, id: $0.id) })
                try await finish(settled)
            }
        }
        return try await postponingContested(again)
    }

    private func logWritten(_ candidate: Candidate, _ outcome: BulkOutcome) {
        guard case .written(let revision) = outcome else { return }
        logger.debug(
            candidate.isDeletion ? "deleted a document" : "wrote a document",
            metadata: [
                "id": "\(candidate.id)", "revision": "\(revision)",
                "rules": .array(candidate.rules.map { "\($0)" }),
            ])
    }

    func logWritten(_ other: OtherDocuments.Written) {
        var metadata: Logger.Metadata = [
            "id": "\(other.place.id)", "revision": "\(other.revision)",
            "rules": .array(other.rules.map { "\($0)" }),
        ]
        metadata["keyspace"] = other.place.keyspace.map { "\($0)" }
        logger.debug("wrote another document", metadata: metadata)
    }

    /// Records what must be remembered, then finishes the candidates: this order is what makes a crash harmless.
    ///
    /// - Throws: ``RunError`` if there are more dead letters than the run's limit allows. Exactly one more than that
    ///   is saved; documents behind it are not settled.
    func finish(_ settled: Settlement) async throws {
        var settled = settled
        let admitted = await progress.admit(settled.deadLettered.count, settings.errorLimit)
        settled.keepDeadLetters(admitted)
        let deadLetters = settled.deadLetters
        shared.deadLetterLog.report(deadLetters)
        try await dropDeadLetters(ofResolved: settled.decided)
        let filed = try await ledger.keep(deadLetters)
        shared.deadLettered.insert(deadLetters, numbers: filed)
        CrashPoint.deadLettersSaved.pass()
        let effects = settings.effectLimits == nil ? [] : settled.effects
        try await ledger.recordOwnRevisions(settled.ownRevisions, effects: effects)
        try await forgetInterruptions(settled.decided)
        CrashPoint.ownRevisionsSaved.pass()
        // A rule that fails again keeps its dead letter and the number.
        try await ledger.drop(settled.settledDeadLetters.filter { !filed.contains($0) })
        let finished = settled.finished
        await progress.count { [settled] in settled.count(in: &$0) }
        await progress.finish(finished.flatMap(\.tickets))
        CrashPoint.finished.pass()
        await shared.budget.giveBack(bytes: finished.reduce(0) { $0 + $1.cost }, documents: finished.count)
        await queue.release(finished)
        try await progress.check(settings.errorLimit)
    }

    /// The process survived the decision about these documents: forgets its earlier deaths over them.
    private func forgetInterruptions(_ decided: [Candidate]) async throws {
        let survivors = decided.map(\.id).filter(shared.interruptions.isSuspect)
        if !survivors.isEmpty { try await ledger.forgetInterruptions(of: survivors) }
    }

    /// A completed decision makes the document's dead letters obsolete, except those of rules that failed again. If
    /// only some rules or documents were selected, only those of the rules that fired are obsolete.
    private func dropDeadLetters(ofResolved decided: [Candidate]) async throws {
        guard !shared.deadLettered.isEmpty, settings.preview == nil else { return }
        let resolved = decided.filter { shared.deadLettered.mayContain($0.id) }
        let isPartial = shared.ruleSet.isPartial
        let dropped = try await ledger.dropDeadLetters(
            of: resolved.map { candidate in
                Ledger.ResolvedDocument(
                    id: candidate.id, rules: isPartial ? Set(candidate.rules) : nil,
                    failedRules: Set(candidate.skippedRules.map(\.rule)), newestDeadLetter: candidate.newestDeadLetter)
            })
        for candidate in resolved
        where candidate.skippedRules.isEmpty && !isPartial && candidate.newestDeadLetter >= shared.deadLettered.newest {
            shared.deadLettered.remove(candidate.id)
        }
        for (id, count) in dropped {
            logger.info(
                "dropped the dead letters of a document: it is resolved",
                metadata: ["id": "\(id)", "dead_letters": .stringConvertible(count)])
        }
    }
}
