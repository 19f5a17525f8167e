internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

// The documents that selectors match: each is read, and written only if it still matches and needs a change. So
// repeating it after a crash does no harm. The rest is as for documents that rules `put`.
extension OtherDocuments {
    private struct RelatedWrite: Sendable {
        var target: RelatedTarget
        let orders: [Int]
        let rest: [Int]
        let decision: Decision
        /// The revision that is written over.
        let earlier: RevisionID?

        var sent: BulkDocument { BulkDocument(id: target.id, segments: decision.bodySegments()) }
    }

    /// Writes a page of related documents.
    ///
    /// - Parameter triggers: One for each plan.
    /// - Returns: What must be read again: after a conflict, because orders remain, or because the page was too large.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`. Some documents may be written then.
    mutating func write(
        _ targets: [RelatedTarget], _ batch: RelatedBatch, triggers: [PutTrigger], _ result: inout Result
    ) async throws -> [RelatedTarget] {
        var held = Set(targets.map(\.place))
        await locks.lock(held)
        let again: [RelatedTarget]
        do { again = try await writeOnce(targets, batch, triggers, &held, &result) } catch {
            await locks.unlock(held)
            throw error
        }
        await locks.unlock(held)
        return again
    }

    private mutating func writeOnce(
        _ targets: [RelatedTarget], _ batch: RelatedBatch, _ triggers: [PutTrigger],
        _ held: inout Set<DocumentPlace>, _ result: inout Result
    ) async throws -> [RelatedTarget] {
        let lookups = try await lookUpSome(targets.map(\.id), in: nil)
        var page = Array(targets.prefix(lookups.count))
        var again = Array(targets.dropFirst(lookups.count))
        var made: [(write: RelatedWrite, revision: RevisionID)] = []
        for (index, lookup) in zip(page.indices, lookups) {
            page[index].history.note(lookup)
            guard let unconfirmed = page[index].unconfirmed else { continue }
            page[index].unconfirmed = nil
            guard let revision = lookup.revision(ofContent: unconfirmed.decision.document) else { continue }
            made.append(
                (
                    RelatedWrite(
                        target: page[index], orders: unconfirmed.orders, rest: [], decision: unconfirmed.decision,
                        earlier: unconfirmed.earlier),
                    revision
                ))
        }
        try await noteWritten(made, batch, &result)
        await progress.count { [count = made.count] in $0.written += count }
        let needs = try await needs(page, lookups, batch, triggers, &result)
        var writes: [RelatedWrite] = []
        for (need, lookup) in zip(needs, lookups) {
            // It has changed since its puts were written, or they were not yet.
            if !need.puts.isEmpty, need.target.revisionWithPuts != lookup.revision {
                again.append(need.target)
                continue
            }
            guard need.isWrite, let decision = need.decision else { continue }
            writes.append(
                RelatedWrite(
                    target: need.target, orders: need.orders, rest: need.rest, decision: decision,
                    earlier: lookup.revision))
        }
        writes = try await withoutBusy(writes, batch, &result)
        let locks = locks
        await Self.unlock(held.subtracting(writes.map(\.target.place)), &held, locks)
        for request in limits.requests(writes.map(\.sent)) {
            var answers: [(write: RelatedWrite, outcome: BulkOutcome)] = []
            try await senders[nil]?.send(request) { answered, outcomes in
                answers += zip(writes[answered], outcomes).map { ($0, $1) }
                await Self.unlock(Set(writes[answered].map(\.target.place)), &held, locks)
            }
            again += try await readAnswers(answers, batch, &result)
        }
        return again
    }

    /// What the documents need of those orders whose triggers have not changed since their decision.
    private mutating func needs(
        _ page: [RelatedTarget], _ lookups: [DocumentLookup], _ batch: RelatedBatch, _ triggers: [PutTrigger],
        _ result: inout Result
    ) async throws -> [RelatedNeeds.Need] {
        while true {
            let ended = result.ended
            let needs = await RelatedNeeds(page, lookups, batch, ended: ended)
            try Task.checkCancellation()
            result.note(needs)
            try await noteOutdated(among: needs.plans.subtracting(result.ended), triggers, &result)
            if result.ended == ended { return needs.needs }
        }
    }

    private func withoutBusy(
        _ writes: [RelatedWrite], _ batch: RelatedBatch, _ result: inout Result
    ) async throws -> [RelatedWrite] {
        let due = await busy.due(writes.map(\.target.place))
        guard !due.isEmpty else { return writes }
        await busy.log(writes.map(\.target.place).filter { due[$0] != nil }, to: logger)
        return writes.filter { write in
            guard let due = due[write.target.place] else { return true }
            result.postpone(plans: (write.orders + write.rest).map { batch.orders[$0].plan }, until: due)
            return false
        }
    }

    // MARK: - Answers

    private func readAnswers(
        _ answers: [(write: RelatedWrite, outcome: BulkOutcome)], _ batch: RelatedBatch, _ result: inout Result
    ) async throws -> [RelatedTarget] {
        var again: [RelatedTarget] = []
        var written: [(write: RelatedWrite, revision: RevisionID)] = []
        for (write, outcome) in answers {
            var target = write.target
            target.unconfirmed = outcome.isWritten ? nil : (write.orders, write.decision, write.earlier)
            let plans = write.orders.map { batch.orders[$0].plan }
            switch target.history.record(outcome, orders: write.orders.count, attemptLimit: limits.attempts) {
            case .written(let revision):
                written.append((write, revision))
                target.orders = write.rest
                if target.orders.isEmpty { continue }
            case .splitUp: target.isOneByOne = true
            case .again: break
            case .failed(let reason):
                for order in write.orders { result.fail(batch.orders[order], target.id, reason) }
            case .postponed:
                result.postpone(plans: plans, until: .now + AttemptLimits.contestedWait)
                continue
            }
            again.append(target)
        }
        try await noteWritten(written, batch, &result)
        await count(answers)
        return again
    }

    private func noteWritten(
        _ written: [(write: RelatedWrite, revision: RevisionID)], _ batch: RelatedBatch, _ result: inout Result
    ) async throws {
        guard !written.isEmpty else { return }
        for order in written.lazy.flatMap(\.write.orders) { result.plansWithWrites.insert(batch.orders[order].plan) }
        CrashPoint.relatedWritten.pass()
        // The feed will bring the documents, which are decided like any change.
        let caused = written.map { write, revision in
            Ledger.CausedRevision(id: write.target.id, revision: revision, chain: batch.chain(of: write.orders))
        }
        try await ledger.recordCausedRevisions(try await ledger.joined(caused, over: written.map(\.write.earlier)))
        result.documents += written.map { write, revision in
            Written(
                place: write.target.place, revision: revision, document: write.decision.document,
                rules: batch.rules(of: write.orders), isDeletion: write.decision.isDeletion)
        }
        CrashPoint.relatedRemembered.pass()
        await busy.noteWrites(written.map(\.write.target.place))
    }

    private func count(_ answers: [(write: RelatedWrite, outcome: BulkOutcome)]) async {
        var (written, deleted, conflicts, rejected) = (0, 0, 0, 0)
        for (write, outcome) in answers {
            switch outcome {
            case .written:
                written += 1
                if write.decision.isDeletion { deleted += 1 }
            case .conflict: conflicts += 1
            case .rejected where write.orders.count == 1: rejected += 1
            default: continue
            }
        }
        await progress.count { [written, deleted, conflicts, rejected] counters in
            counters.written += written
            counters.deleted += deleted
            counters.conflicts += conflicts
            counters.rejected += rejected
        }
    }

    // MARK: - Without writing

    /// The documents that actions on related documents `put`. Notes for each target the revision that led to them.
    mutating func puts(
        of targets: inout [RelatedTarget], _ batch: RelatedBatch, home: KeyspaceName, _ result: inout Result
    ) async throws -> [PutOrder] {
        let lookups = try await lookUpSome(targets.map(\.id), in: nil)
        let needs = await RelatedNeeds(
            Array(targets.prefix(lookups.count)), lookups, batch, ended: result.ended)
        try Task.checkCancellation()
        result.note(needs)
        for (index, lookup) in lookups.enumerated() { targets[index].revisionWithPuts = lookup.revision }
        return needs.needs.flatMap { need in
            need.puts.map { order, effect in
                let order = batch.orders[order]
                return PutOrder(
                    plan: order.plan, effect: effect, rule: order.rule, home: home, chain: order.chain)
            }
        }
    }

    /// Reads a page of related documents, and decides about them.
    ///
    /// - Parameter targets: Afterwards only those that were not read because the page was too large.
    mutating func survey(
        _ targets: inout [RelatedTarget], _ batch: RelatedBatch, ended: Set<Int>
    ) async throws -> RelatedNeeds {
        let lookups = try await lookUpSome(targets.map(\.id), in: nil)
        let needs = await RelatedNeeds(Array(targets.prefix(lookups.count)), lookups, batch, ended: ended)
        try Task.checkCancellation()
        targets.removeFirst(lookups.count)
        return needs
    }
}

extension OtherDocuments.Result {
    /// Notes the plans that can't be carried out, or not now.
    mutating func note(_ needs: RelatedNeeds) {
        for (plan, reason) in needs.failures where failures[plan] == nil {
            let rule = needs.failedOrders[plan].map { needs.batch.orders[$0].rule }
            failures[plan] = PlanFailure(rule: rule, reason: reason)
        }
        postpone(plans: Array(needs.undecided), until: .now + AttemptLimits.contestedWait)
    }

    mutating func fail(_ order: RelatedOrder, _ id: DocumentID, _ reason: String) {
        failures[order.plan] = PlanFailure(rule: order.rule, reason: order.failure(id, reason))
    }
}
