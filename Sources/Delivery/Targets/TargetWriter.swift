internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes the other documents that rules change, before the changed documents themselves.
///
/// Each document is read first and written only if it needs a change, so repeating it after a crash is harmless. Then
/// the documents that led to it are checked: if one has changed since its decision, the outdated decision must not
/// overwrite the effects of its newer content. The write names the revision that was read *before* that check, so a
/// change in between causes a conflict.
struct TargetWriter {
    let ledger: Ledger
    let progress: RunProgress
    let limits: RequestLimits
    /// One sender for the followed keyspace (nil), and one for each other keyspace that rules name.
    var senders: [String?: BulkSender]
    /// Shared by all writers of a run, so that they don't cause conflicts for each other.
    let locks: KeyedLock<DocumentAddress>
    let busy: BusyDocuments
    /// Has room for the documents while they are in memory.
    let budget: MemoryBudget
    /// Knows on which written documents a rule may fire; nil: the run does not decide them without the feed.
    let decider: Decider?
    let logger: Logger

    /// Writes all targets that rules `put`.
    ///
    /// - Parameter triggers: One for each plan.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`. Some documents may be written then.
    mutating func write(_ batch: PutBatch, triggers: [Trigger]) async throws -> TargetResult {
        var result = TargetResult()
        var waiting = batch.targets
        while !waiting.isEmpty {
            var again: [Target] = []
            for (keyspace, group) in groups(waiting, batch) {
                again += try await write(group, in: keyspace, batch, triggers, &result)
            }
            waiting = result.withoutEnded(again, of: batch.orders)
        }
        try await noteOutdatedUnwritten(triggers, &result)
        return result
    }

    /// Writes a page of targets of one keyspace.
    ///
    /// - Returns: The targets that must be read again: after a conflict, because orders remain, or because the page was
    ///   too large.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`. Some documents may be written then.
    mutating func write(
        _ targets: [Target], in keyspace: String?, _ batch: some TargetBatch, _ triggers: [Trigger],
        _ result: inout TargetResult
    ) async throws -> [Target] {
        var held = Set(targets.map(\.place))
        await locks.lock(held)
        let again: [Target]
        do { again = try await writeLocked(targets, in: keyspace, batch, triggers, &held, &result) } catch {
            await locks.unlock(held)
            throw error
        }
        await locks.unlock(held)
        return again
    }

    /// - Parameter held: The locked places. Settled places are unlocked for other writers.
    private mutating func writeLocked(
        _ targets: [Target], in keyspace: String?, _ batch: some TargetBatch, _ triggers: [Trigger],
        _ held: inout Set<DocumentAddress>, _ result: inout TargetResult
    ) async throws -> [Target] {
        let targets = result.withoutEnded(targets, of: batch.orders)
        let read = try await read(targets.map(\.place.id), in: keyspace)
        defer { withExtendedLifetime(read) {} }
        let lookups = read.lookups
        var page = Array(targets.prefix(lookups.count))
        var again = Array(targets.dropFirst(lookups.count))
        try await noteConfirmedWrites(&page, lookups, in: keyspace, batch, triggers, &result)
        var writes: [Write] = []
        for (need, lookup) in zip(try await needs(page, lookups, batch, triggers, &result), lookups) {
            // It has changed since its puts were written, or they were not written yet.
            if need.isDeferred || !need.puts.isEmpty && need.target.revisionWithPuts != lookup.revision {
                again.append(need.target)
            } else if need.isWrite, let content = need.content {
                let write = TargetWrite(orders: need.orders, rest: need.rest, earlier: lookup.revision)
                writes.append(Write(target: need.target, write: write, content: content))
            }
        }
        writes = try await withoutBusy(writes, batch, &result)
        let locks = locks
        await Self.unlock(held.subtracting(writes.map(\.target.place)), &held, locks)
        for request in limits.requests(writes.map(\.sent)) {
            var answers: [(write: Write, outcome: BulkOutcome)] = []
            try await senders[keyspace]?.send(request) { answered, outcomes in
                answers += zip(writes[answered], outcomes).map { ($0, $1) }
                await Self.unlock(Set(writes[answered].map(\.target.place)), &held, locks)
            }
            again += try await readAnswers(answers, in: keyspace, batch, triggers, &result)
        }
        return again
    }

    private struct Write: Sendable {
        let target: Target
        let write: TargetWrite
        let content: TargetContent

        var sent: BulkDocument { BulkDocument(id: target.place.id, segments: content.segments) }
    }

    private static func unlock(
        _ places: Set<DocumentAddress>, _ held: inout Set<DocumentAddress>, _ locks: KeyedLock<DocumentAddress>
    ) async {
        held.subtract(places)
        await locks.unlock(places)
    }

    /// Notes the revisions, and the writes whose answers were lost.
    private mutating func noteConfirmedWrites(
        _ page: inout [Target], _ lookups: [DocumentLookup], in keyspace: String?, _ batch: some TargetBatch,
        _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws {
        var confirmed: [(write: Write, revision: RevisionID)] = []
        for (index, lookup) in zip(page.indices, lookups) {
            page[index].history.note(lookup)
            guard let (write, revision) = page[index].takeConfirmedWrite(lookup), case .found(_, let document) = lookup
            else {
                continue
            }
            confirmed.append((Write(target: page[index], write: write, content: .document(document)), revision))
        }
        try await noteWritten(confirmed, in: keyspace, batch, triggers, &result)
        await progress.count { [count = confirmed.count] in $0.written += count }
    }

    /// What the targets need, from orders whose triggers have not changed since their decision.
    private mutating func needs(
        _ page: [Target], _ lookups: [DocumentLookup], _ batch: some TargetBatch, _ triggers: [Trigger],
        _ result: inout TargetResult
    ) async throws -> [TargetNeed] {
        var checked: Set<Int> = []
        while true {
            let ended = result.ended
            let needs = await batch.needs(page, lookups, ended: ended)
            try Task.checkCancellation()
            let unchecked = needs.plans(batch.orders).subtracting(ended).subtracting(checked)
            try await noteOutdated(among: unchecked, triggers, &result)
            checked.formUnion(unchecked)
            result.note(needs)
            if result.ended == ended { return needs.needs }
        }
    }

    private func withoutBusy(
        _ writes: [Write], _ batch: some TargetBatch, _ result: inout TargetResult
    ) async throws -> [Write] {
        let due = await busy.due(writes.map(\.target.place))
        guard !due.isEmpty else { return writes }
        await busy.log(writes.map(\.target.place).filter { due[$0] != nil }, to: logger)
        return writes.filter { write in
            guard let due = due[write.target.place] else { return true }
            result.postpone(plans: batch.plans(of: write.write.orders + write.write.rest), until: due)
            return false
        }
    }

    // MARK: - Answers

    private func readAnswers(
        _ answers: [(write: Write, outcome: BulkOutcome)], in keyspace: String?, _ batch: some TargetBatch,
        _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws -> [Target] {
        var again: [Target] = []
        var written: [(write: Write, revision: RevisionID)] = []
        for (write, outcome) in answers {
            var target = write.target
            let orders = write.write.orders
            switch target.record(
                outcome, of: write.write, write.content.document, attemptLimit: limits.attempts)
            {
            case .written(let revision): written.append((write, revision))
            case .again, .split: break
            case .failed(let reason):
                for order in orders.map({ batch.orders[$0] }) {
                    result.fail(order.plan, order.failure(target.place.id, reason))
                }
            case .postponed:
                result.postpone(
                    plans: batch.plans(of: orders + write.write.rest), until: .now + AttemptLimits.contestedWait)
                continue
            }
            if !target.orders.isEmpty { again.append(target) }
        }
        try await noteWritten(written, in: keyspace, batch, triggers, &result)
        await count(answers)
        return again
    }

    /// Records which rules led to the documents. The feed of this keyspace will return them, and they are decided like
    /// any change.
    private func noteWritten(
        _ written: [(write: Write, revision: RevisionID)], in keyspace: String?, _ batch: some TargetBatch,
        _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws {
        guard !written.isEmpty else { return }
        result.plansWithWrites.formUnion(batch.plans(of: written.flatMap(\.write.write.orders)))
        batch.crashPoints.written.pass()
        let traces =
            !ledger.traces ? [] : written.flatMap { trace($0.write, $0.revision, in: keyspace, batch, triggers) }
        if keyspace == nil {
            let caused = written.map { write, revision in
                Ledger.CausedRevision(
                    id: write.target.place.id, revision: revision, chain: batch.chain(of: write.write.orders))
            }
            try await ledger.recordCausedRevisions(
                try await ledger.joined(caused, over: written.map(\.write.write.earlier)), traces: traces)
        } else {
            try await ledger.recordCausedRevisions([], traces: traces)
        }
        result.documents += written.map { write, revision in
            let document = write.content.document
            let isDeletion = write.content.isDeletion
            return WrittenTarget(
                place: write.target.place, revision: revision, byteCount: document.bytes.count,
                rulesMayFire: decider?.mayFire(on: document.root, isDeleted: isDeletion) ?? false,
                rules: batch.rules(of: write.write.orders), isDeletion: isDeletion)
        }
        batch.crashPoints.remembered.pass()
        await busy.noteWrites(written.map(\.write.target.place))
    }

    /// The entries of the trace about the document and about those that led to it.
    private func trace(
        _ write: Write, _ revision: RevisionID, in keyspace: String?, _ batch: some TargetBatch, _ triggers: [Trigger]
    ) -> [TraceEntry] {
        var seen: Set<DocumentID> = []
        let causes = batch.plans(of: write.write.orders).map { triggers[$0].id }.filter { seen.insert($0).inserted }
        return TraceEntry.entries(
            of: TraceEntry.OtherWrite(
                id: write.target.place.id, keyspace: keyspace, revision: revision,
                rules: batch.rules(of: write.write.orders), isDeletion: write.content.isDeletion),
            causes: causes)
    }

    private func count(_ answers: [(write: Write, outcome: BulkOutcome)]) async {
        var counted = RunCounters()
        for (write, outcome) in answers {
            switch outcome {
            case .written:
                counted.written += 1
                if write.content.isDeletion { counted.deleted += 1 }
            case .conflict: counted.conflicts += 1
            case .rejected where write.write.orders.count == 1: counted.rejected += 1
            default: continue
            }
        }
        await progress.count { [counted] counters in
            counters.written += counted.written
            counters.deleted += counted.deleted
            counters.conflicts += counted.conflicts
            counters.rejected += counted.rejected
        }
    }
}
