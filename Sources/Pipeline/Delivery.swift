package import GatewayClient
package import Logging
package import Rules

/// The pipeline of a run: feed, rules, writes, ledger. Built once, driven by whoever has changes to bring.
///
/// ``take(_:reached:)`` is the way in, ``write()`` does the work beside it, ``finish()`` ends it.
package struct Delivery: Sendable {
    package struct Settings: Sendable {
        /// Bulk requests under way at once.
        package var writers = 4
        /// Bytes of documents on their way at once.
        package var memoryBudget = 24 << 20
        /// Documents on their way at once: as many as the writers can send. Small ones cost more than their bytes.
        package var documentBudget = 1000
        package var limits = BulkWriter.Limits()
        package var patience = Patience.Settings()
        /// How long finished work may wait for its checkpoint. Killed in between, it is looked at again.
        package var checkpointInterval: Duration = .seconds(1)

        package init() {}
    }

    package let progress: RunProgress
    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let ledger: Ledger
    private let settings: Settings
    private let logger: Logger
    private let queue = CandidateQueue()
    private let budget: MemoryBudget

    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, start: SequenceID, settings: Settings, logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.settings = settings
        self.logger = logger
        progress = RunProgress(start: start)
        budget = MemoryBudget(bytes: settings.memoryBudget, documents: settings.documentBudget)
    }

    /// A way in for one task that brings changes in the order of the feed.
    package func makeIntake() -> Intake { Intake(delivery: self, sieve: ChangeSieve(decider: ruleSet.makeDecider())) }

    package struct Intake {
        fileprivate let delivery: Delivery
        fileprivate let sieve: ChangeSieve

        /// Takes a stretch of the feed and returns once there is room for the next.
        ///
        /// - Throws: ``StateError`` if a dead letter can't be written, `CancellationError` while it waits for room: the
        ///   stretch is taken in then.
        package func take(_ rows: ChangesBatch.SubSequence?, reached: SequenceID) async throws {
            let sifted = rows.map(sieve.sift) ?? ChangeSieve.Result()
            try await delivery.accept(sifted, changes: rows?.count ?? 0, bytes: rows?.byteCount ?? 0, reached: reached)
        }
    }

    private func accept(
        _ sifted: ChangeSieve.Result, changes: Int, bytes: Int, reached: SequenceID
    ) async throws {
        logger.report(sifted.deadLetters)
        try await ledger.setAside(sifted.deadLetters)
        let letters = sifted.deadLetters.count
        if letters > 0 { await progress.count { $0.deadLetters += letters } }
        let tickets = await progress.advance(
            through: sifted.picks.map { ($0.preceding, $0.sequence) }, to: reached, changes: changes, bytes: bytes)
        guard !tickets.isEmpty else { return }
        let candidates = zip(sifted.picks, tickets).map { pick, ticket in
            Candidate(
                ticket: ticket, sequence: pick.sequence, id: pick.id, revision: pick.revision,
                isDeleted: pick.isDeleted, document: pick.document)
        }
        await budget.take(bytes: candidates.reduce(0) { $0 + $1.byteCount }, documents: candidates.count)
        await queue.submit(candidates)
        try await budget.room()
    }

    /// Writes until ``finish()`` was called and everything taken in is answered for.
    package func write() async throws {
        let writer = BulkWriter(
            gateway: gateway, ruleSet: ruleSet, queue: queue, ledger: ledger, progress: progress, budget: budget,
            limits: settings.limits, patience: settings.patience, logger: logger)
        try await withThrowingTaskGroup { group in
            for _ in 0..<settings.writers {
                group.addTask {
                    do { try await writer.run() } catch {
                        await queue.abort()
                        throw error
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Saves checkpoints as the safe sequence moves, until the progress is ended. Sleeps while nothing moves.
    package func keepCheckpoint() async throws {
        while let sequence = await progress.nextUnsaved() {
            try await ledger.saveCheckpoint(sequence)
            await progress.noteSaved(sequence)
            try await Task.sleep(for: settings.checkpointInterval)
        }
    }

    /// Nothing more will be taken in.
    package func finish() async { await queue.finish() }

    /// Lets go of what is not finished, so that every task of the pipeline ends.
    package func abandon() async {
        await queue.abort()
        await progress.end()
    }

    /// Saves the last checkpoint, if anything has moved. To be called when nothing is under way any more.
    ///
    /// A start that nothing was read from is no checkpoint: the gateway may not even know that sequence.
    package func saveCheckpoint() async throws {
        guard let sequence = await progress.unsaved else { return }
        try await ledger.saveCheckpoint(sequence)
        await progress.noteSaved(sequence)
    }
}
