internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Takes candidates, decides, writes what the rules ask for, and answers for every one of them.
///
/// One of several that share a queue; each has one request under way. A candidate ends in one of four ways: written,
/// found as the rules want it, an own revision, or a dead letter. Only then is its ticket finished, after what must be
/// remembered about it is on disk: a crash anywhere repeats work and loses none.
package struct BulkWriter: Sendable {
    package struct Limits: Sendable {
        /// Documents in one request.
        package var documents = 250
        /// Bytes in one request, attachments as base64 included. A document larger than this goes alone.
        package var bytes = 4 << 20
        /// Writes of one document that may meet a conflict, one after the other.
        package var attempts = 10

        package init() {}
    }

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
    let turns: Turns<OtherDocuments.Place>
    let settings: Delivery.Settings
    let logger: Logger

    var limits: Limits { settings.limits }

    /// What one run of ``run()`` works with.
    struct Tools {
        let planner: Planner
        var sender: BulkSender
        var others: OtherDocuments
        /// With a machine that can't run programs now.
        private var patience: Patience

        init(planner: Planner, sender: BulkSender, others: OtherDocuments, patience: Patience) {
            self.planner = planner
            self.sender = sender
            self.others = others
            self.patience = patience
        }

        /// - Throws: ``RunFailure`` if a one-shot job has waited long enough.
        mutating func pause(before postponed: [Candidate], _ pauses: Pauses) async throws {
            guard !postponed.isEmpty else { return patience.succeed() }
            switch patience.verdict(on: GatewayError(.unavailable, "no process for jq programs can be started")) {
            case .retry(let delay): try await pauses.wait(delay)
            case .end(let failure): throw failure
            }
        }
    }

    /// Works until the queue is finished and empty.
    ///
    /// Cancelling aborts the request under way: its documents are not finished and will be seen again. So will be what
    /// waits for another attempt when the run is to stop: nothing is begun any more then.
    ///
    /// - Throws: ``RunFailure``, ``StateError``, `CancellationError`.
    func run() async throws {
        var tools = makeTools()
        do {
            while true {
                var open = await queue.take(limit: limits.documents, byteLimit: limits.bytes)
                if open.isEmpty { return }
                while !open.isEmpty { open = try await settle(&open, &tools) }
            }
        } catch is RunIsStopping {
            await queue.abort()
        }
    }

    private func makeTools() -> Tools {
        let patience = Patience(settings.patience, hasSucceeded: true)
        func sender(_ gateway: Gateway) -> BulkSender {
            BulkSender(
                gateway: gateway, progress: progress, pace: pace, pauses: settings.pauses, patience: patience,
                logger: logger)
        }
        var senders: [String?: BulkSender] = [nil: sender(gateway)]
        for (keyspace, sibling) in siblings { senders[keyspace] = sender(sibling) }
        return Tools(
            planner: Planner(
                ruleSet: ruleSet, decider: ruleSet.makeDecider(), progress: progress, now: settings.now),
            sender: sender(gateway),
            others: OtherDocuments(
                ledger: ledger, progress: progress, limits: limits, senders: senders, turns: turns),
            patience: patience)
    }

    /// Decides about candidates and writes them. Empties `open`: what was read is let go before anything is sent.
    ///
    /// - Returns: Those that have not found their end yet, to be settled again.
    private func settle(_ open: inout [Candidate], _ tools: inout Tools) async throws -> [Candidate] {
        let unread = open.filter(\.isUnread)
        if !unread.isEmpty {
            open.removeAll(where: \.isUnread)
            open += try await readAgain(unread, sender: &tools.sender)
        }
        var postponed: [Candidate] = []
        let writes = try await decide(&open, &tools, &postponed)
        let again = try await write(writes, &tools)
        if !postponed.isEmpty {
            logger.warning("programs can't be run now; trying again", metadata: ["documents": "\(postponed.count)"])
        }
        try await tools.pause(before: postponed, settings.pauses)
        return again + postponed
    }

    /// Returns the candidates to be decided again, each as it is now.
    private func write(_ writes: [PlannedWrite<Candidate>], _ tools: inout Tools) async throws -> [Candidate] {
        var again: [Candidate] = []
        var tombstones: [Candidate] = []
        for request in PlannedWrite.requests(writes, limits: limits) {
            try await tools.sender.send(request) { writes, outcomes in
                CrashPoint.written.pass()
                var settled = Settlement()
                for (write, outcome) in zip(writes, outcomes) {
                    switch settled.take(write.subject, outcome, attemptLimit: limits.attempts) {
                    case .settled: break
                    case .decideAgain(let candidate) where candidate.isDeleted && outcome != .conflict:
                        tombstones.append(candidate)
                    case .decideAgain(let candidate): again.append(candidate)
                    }
                }
                try await finish(settled)
            }
        }
        return try await readAgain(again, sender: &tools.sender) + tombstones
    }

    /// Candidates whose write met another revision, with the document as it is now.
    private func readAgain(_ candidates: [Candidate], sender: inout BulkSender) async throws -> [Candidate] {
        guard !candidates.isEmpty else { return [] }
        var settled = Settlement()
        var open: [Candidate] = []
        // By the size that each had: what is read is held in memory whole.
        for group in candidates.grouped(count: limits.documents, bytes: limits.bytes, size: \.byteCount) {
            let lookups = try await sender.lookUp(group.map(\.id)[...])
            for (var candidate, lookup) in zip(group, lookups) {
                switch lookup {
                case .found(let revision, let document):
                    candidate.revision = revision
                    candidate.document = document.bytes
                    candidate.isDeleted = false
                    open.append(candidate)
                case .deleted(let revision) where candidate.isDeleted && revision == candidate.revision:
                    open.append(candidate)
                case .deleted, .missing:
                    // Its tombstone comes in the feed, or is there already: nothing is left to write to.
                    settled.finished.append(candidate)
                case .refused(let reason):
                    settled.setAside(candidate, candidate.deadLetter(reason: "can't be read again: \(reason)"))
                }
            }
        }
        try await finish(settled)
        return open
    }

    /// Remembers what must be remembered, then lets go: the order is what makes a crash harmless.
    func finish(_ settled: Settlement) async throws {
        logger.report(settled.deadLetters)
        try await ledger.setAside(settled.deadLetters)
        CrashPoint.deadLettersSaved.pass()
        try await ledger.recordOwnRevisions(settled.ownRevisions)
        CrashPoint.ownRevisionsSaved.pass()
        try await ledger.drop(settled.settledLetters)
        await progress.count { settled.count(in: &$0) }
        await progress.finish(settled.finished.compactMap(\.ticket))
        CrashPoint.finished.pass()
        await budget.giveBack(
            bytes: settled.finished.reduce(0) { $0 + $1.cost }, documents: settled.finished.count)
        await queue.release(settled.finished)
        try await progress.check(settings.errorLimit)
    }
}
