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
    let ruleSet: RuleSet
    let queue: CandidateQueue
    let ledger: Ledger
    let progress: RunProgress
    let budget: MemoryBudget
    let limits: Limits
    let patience: Patience.Settings
    let logger: Logger

    /// Works until the queue is finished and empty.
    ///
    /// Cancelling aborts the request under way: its documents are not finished and will be seen again.
    ///
    /// - Throws: ``RunFailure``, ``StateError``, `CancellationError`.
    func run() async throws {
        let decider = ruleSet.makeDecider()
        var sender = BulkSender(
            gateway: gateway, progress: progress, patience: Patience(patience, hasSucceeded: true), logger: logger)
        while true {
            let candidates = await queue.take(limit: limits.documents, byteLimit: limits.bytes)
            if candidates.isEmpty { return }
            try await settle(candidates, decider: decider, sender: &sender)
        }
    }

    /// Decides and writes until each candidate has found its end.
    private func settle(
        _ candidates: [Candidate], decider: Decider, sender: inout BulkSender
    ) async throws {
        var open = candidates
        while !open.isEmpty {
            var settled = Settlement()
            var writes: [PlannedWrite] = []
            for candidate in try await withoutOwnRevisions(open) {
                if let write = await plan(candidate, decider, &settled) { writes.append(write) }
            }
            try await finish(settled)
            var again: [Candidate] = []
            var tombstones: [Candidate] = []
            for request in PlannedWrite.requests(writes, limits: limits) {
                try await sender.send(request) { writes, outcomes in
                    var settled = Settlement()
                    for (write, outcome) in zip(writes, outcomes) {
                        switch settled.take(write.candidate, outcome, attemptLimit: limits.attempts) {
                        case .settled: break
                        case .decideAgain(let candidate) where candidate.isDeleted && outcome != .conflict:
                            tombstones.append(candidate)
                        case .decideAgain(let candidate): again.append(candidate)
                        }
                    }
                    try await finish(settled)
                }
            }
            open = try await readAgain(again, sender: &sender) + tombstones
        }
    }

    /// A revision that this rule set wrote is not decided again, also after a restart.
    private func withoutOwnRevisions(_ candidates: [Candidate]) async throws -> [Candidate] {
        let revisions = candidates.map { (id: $0.id, revision: $0.revision ?? RevisionID("")) }
        let own = try await ledger.ownRevisions(among: revisions)
        guard !own.isEmpty else { return candidates }
        var settled = Settlement()
        settled.finished = own.map { candidates[$0] }
        try await finish(settled)
        return candidates.indices.filter { !own.contains($0) }.map { candidates[$0] }
    }

    /// Nil if there is nothing to write: the candidate is in `settled` then.
    private func plan(_ candidate: Candidate, _ decider: Decider, _ settled: inout Settlement) async -> PlannedWrite? {
        let text: JSONText
        do {
            text = try Self.withoutVersion(JSONText(candidate.document))
        } catch {
            settled.setAside(candidate, candidate.deadLetter(reason: "\(error)"))
            return nil
        }
        // A write goes where its `_id` says: another one, or none, would make a document that nobody asked for.
        guard text.root["_id"]?.isString(candidate.id.text.utf8) == true else {
            settled.setAside(candidate, candidate.deadLetter(reason: "the document's _id is not that of its change"))
            return nil
        }
        let decision = decider.decide(on: text, isDeleted: candidate.isDeleted)
        if candidate.attempts == 0, !decision.fired.isEmpty {
            await progress.count { counters in
                counters.matched += 1
                for rule in decision.fired { counters.rules[ruleSet.names[rule], default: 0] += 1 }
            }
        }
        if let fault = decision.fault {
            settled.setAside(candidate, candidate.deadLetter(rule: fault.rule, reason: fault.reason))
            return nil
        }
        guard decision.isChanged else {
            settled.finished.append(candidate)
            if !decision.fired.isEmpty { settled.unchanged += 1 }
            return nil
        }
        var planned = candidate
        // What was read is not needed any more: after a refusal the document is read again.
        if !candidate.isDeleted { planned.document = [] }
        return PlannedWrite(
            candidate: planned, document: BulkDocument(id: candidate.id, segments: decision.bodySegments()))
    }

    /// Sync Gateway 4 adds `_cv` to what it hands out. Writes are guarded by `_rev`; both could disagree.
    private static func withoutVersion(_ text: JSONText) throws(JSONEditFault) -> JSONText {
        text.root["_cv"] == nil ? text : try text.removing(JSONPointer(tokens: ["_cv"]))
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
    private func finish(_ settled: Settlement) async throws {
        logger.report(settled.deadLetters)
        try await ledger.setAside(settled.deadLetters)
        try await ledger.recordOwnRevisions(settled.ownRevisions)
        await progress.count { settled.count(in: &$0) }
        await progress.finish(settled.finished.map(\.ticket))
        await budget.giveBack(
            bytes: settled.finished.reduce(0) { $0 + $1.byteCount }, documents: settled.finished.count)
        await queue.release(settled.finished)
    }
}
