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
    /// What the writers of a run share.
    struct Shared: Sendable {
        let gateway: Gateway
        /// Other keyspaces that rules write to.
        let siblings: [String: Gateway]
        /// The files of `emit`; nil in a dry run.
        let outputs: LineOutputs?
        /// Fetches attachments; nil if no rule downloads any.
        let downloads: Downloads?
        /// Compares what rules attach with what the gateway has.
        let comparison: AttachmentComparison
        /// What tells the database from others.
        let database: String
        let ruleSet: RuleSet
        let queue: CandidateQueue
        let ledger: Ledger
        let progress: RunProgress
        let budget: MemoryBudget
        let allowance: ChangeAllowance
        let pace: WritePace
        let locks: KeyedLock<DocumentPlace>
        let search: RelatedSearch.Shared
        let busy: BusyDocuments
        let deadLettered: DeadLetteredDocuments
        let deadLetterLog: DeadLetterLog
        let timers: DocumentTimers?
        let interruptions: InterruptedDecisions
        /// Nil if no rule sends webhooks, and in a dry run.
        let webhooks: WebhookSender?
        /// Nil: no rule counts, or this run has nothing to do with counts.
        let counts: Counts?
        /// Nil if no rule resolves conflicts.
        let conflicts: (any ConflictResolving)?
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

    /// Works until the queue is finished and empty.
    ///
    /// Cancelling aborts the request under way: a later run sees its documents again. The same goes for candidates that
    /// wait for a retry when the run is to stop.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run() async throws {
        let (batches, beside) = AsyncStream<WebhookBatch>.makeStream()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                defer { beside.finish() }
                do { try await work(beside) } catch is RunIsStopping { await queue.abort() }
            }
            for await batch in batches { group.addTask { try await send(batch) } }
        }
    }

    private func work(_ beside: AsyncStream<WebhookBatch>.Continuation) async throws {
        var context = makeContext()
        while true {
            var open = await queue.take(limit: limits.documents, byteLimit: limits.bytes, writer: number)
            if open.isEmpty { return }
            while !open.isEmpty { open = try await decideAndWrite(&open, &context, beside) }
        }
    }

    /// Decides and writes candidates. Empties `open`, so that what was read is freed before anything is sent.
    ///
    /// - Parameter beside: Takes the candidates with webhooks, and settles them while this writer goes on.
    /// - Returns: Those that this writer must settle yet.
    private func decideAndWrite(
        _ open: inout [Candidate], _ context: inout WriterContext,
        _ beside: AsyncStream<WebhookBatch>.Continuation
    ) async throws -> [Candidate] {
        var later = takeSlow(from: &open) + takeUnread(from: &open)
        let reading = try await readAgain(&open, &context.sender)
        defer { withExtendedLifetime(reading) {} }
        later += takeLargeConflicts(from: &open)
        open = try await withConflicts(open)
        var undecided: [Candidate] = []
        let decided = try await decide(&open, &context, &undecided)
        let again = try await write(decided.writes, &context.sender)
        try await send(decided.webhooks, beside, reading)
        try await context.pause(before: undecided)
        later += context.putOff
        context.putOff = []
        return again + decided.again + undecided + later
    }

    /// Keeps those whose programs are slow from delaying others: they are decided one at a time, after the others.
    ///
    /// - Returns: Those to settle later.
    private func takeSlow(from open: inout [Candidate]) -> [Candidate] {
        let slow = open.filter(\.isSlow)
        guard !slow.isEmpty, open.count > 1 else { return [] }
        let isMixed = slow.count < open.count
        open = isMixed ? open.filter { !$0.isSlow } : [slow[0]]
        return isMixed ? slow : Array(slow.dropFirst())
    }

    // MARK: - The state of a writer

    /// The state of one call of ``run()``.
    struct WriterContext {
        let planner: Planner
        var sender: BulkSender
        var others: OtherDocuments
        var search: RelatedSearch
        var previewed = PreviewedPuts()
        /// Candidates that are not decided yet, because their programs are slow.
        var putOff: [Candidate] = []
        /// Whether any rule writes other documents.
        let mayPut: Bool
        /// For a machine that can't run jq programs at the moment.
        private var retrier: Retrier

        init(
            planner: Planner, sender: BulkSender, others: OtherDocuments, search: RelatedSearch, retrier: Retrier
        ) {
            self.planner = planner
            mayPut = planner.ruleSet.mayPut
            self.sender = sender
            self.others = others
            self.search = search
            self.retrier = retrier
        }

        /// - Throws: `RunError` if a one-shot job has waited long enough.
        mutating func pause(before postponed: [Candidate]) async throws {
            guard !postponed.isEmpty else { return retrier.succeed() }
            let error = GatewayError(.unavailable, "no process for jq programs can be started")
            try await retrier.wait(
                after: error, "can't run the rules on some documents now; trying again",
                [LogKey.documents: .stringConvertible(postponed.count)])
        }
    }

    private func makeContext() -> WriterContext {
        let policy = RetryPolicy.ofKnownGateway(settings.retries)
        let retrier = Retrier(policy, pauses: settings.pauses, logger: logger) { [progress] in
            await progress.noteRetry()
        }
        let sender = makeSender(shared.gateway)
        var senders: [String?: BulkSender] = [nil: sender]
        for (keyspace, sibling) in shared.siblings { senders[keyspace] = makeSender(sibling) }
        return WriterContext(
            planner: Planner(
                ruleSet: shared.ruleSet, decider: shared.ruleSet.makeDecider(),
                downloads: shared.downloads, stored: shared.comparison.reader, interruptions: shared.interruptions,
                note: shared.interruptions.makeNote(number),
                countsEffects: settings.effectLimits != nil, now: settings.now),
            sender: sender,
            others: OtherDocuments(
                ledger: ledger, progress: progress, limits: limits, senders: senders, locks: shared.locks,
                busy: shared.busy, logger: logger),
            search: RelatedSearch(
                gateway: shared.gateway, shared: shared.search, reader: sender.reader,
                idsPerRequest: limits.documents, retrier: retrier, logger: logger),
            retrier: retrier)
    }

    func makeSender(_ gateway: Gateway) -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: shared.pace, pauses: settings.pauses,
            policy: .ofKnownGateway(settings.retries), logger: logger)
    }
}

extension BulkWriter {
    /// The size of requests, and the number of attempts.
    package struct Limits: Sendable {
        /// The most documents in one request.
        package var documents = 250
        /// The most bytes in one request: 4 MiB, attachments as base64 included. A larger document is sent alone.
        package var bytes = 4 << 20
        /// The most bytes of an answer with several documents of unknown size: 2 MiB.
        package var bytesRead = 2 << 20
        /// A document is dead-lettered after this many writes on which the gateway failed, or this many conflicts
        /// without another revision. Each kind is counted on its own.
        package var attempts = AttemptLimits.failures

        /// Limits that Sync Gateway and CouchDB take with their default settings.
        package init() {}

        /// Groups documents into requests, by count and by bytes, in order.
        func requests(_ written: [BulkDocument]) -> [ArraySlice<BulkDocument>] {
            written.grouped(count: documents, bytes: bytes) { $0.byteCount }
        }
    }
}
