internal import GatewayClient
internal import Logging
internal import Rules

// What comes before a changed document is written: the decision, and the other documents that it led to.
extension BulkWriter {
    /// The writes of changed documents, once everything that comes before them is done; none in a preview.
    func decide(
        _ open: inout [Candidate], _ tools: inout Tools, _ postponed: inout [Candidate]
    ) async throws -> [PlannedWrite<Candidate>] {
        var plans = try await plan(open, tools.planner, &postponed)
        open = []
        CrashPoint.decided.pass()
        if settings.preview != nil || settings.changeLimit != nil {
            plans = try await allowed(try await withoutIdle(plans, &tools))
        }
        guard let preview = settings.preview else {
            return try await writeOthers(for: try await withoutOverwritten(plans), &tools)
        }
        try await show(plans, to: preview)
        return []
    }

    /// Without plans that want nothing but other documents which are as they should be already.
    private func withoutIdle(_ plans: [Planner.Plan], _ tools: inout Tools) async throws -> [Planner.Plan] {
        let wanted = Set(try await tools.others.wanted(orders(of: plans)).map(\.plan))
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for (index, plan) in plans.enumerated() {
            if plan.decision.isChanged || plan.decision.fault != nil || wanted.contains(index) {
                rest.append(plan)
            } else {
                settled.finished.append(plan.candidate)
                settled.unchanged += 1
            }
        }
        try await finish(settled)
        return rest
    }

    /// As many plans as may still be carried out. A second attempt does not count.
    private func allowed(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        let firstTries = plans.count { $0.candidate.attempts == 0 && $0.decision.fault == nil }
        var left = await allowance.take(firstTries)
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for plan in plans {
            if plan.candidate.attempts == 0, plan.decision.fault == nil {
                guard left > 0 else {
                    settled.finished.append(plan.candidate)
                    continue
                }
                left -= 1
            }
            rest.append(plan)
        }
        try await finish(settled)
        return rest
    }

    /// The plans with something to write, or in a preview with something to show. All others are answered for, but for
    /// those that could not be decided now.
    private func plan(
        _ candidates: [Candidate], _ planner: Planner, _ postponed: inout [Candidate]
    ) async throws -> [Planner.Plan] {
        var settled = Settlement()
        var plans: [Planner.Plan] = []
        let decided = await planner.plan(try await withoutOwnRevisions(candidates), &settled)
        // A program that was stopped because the run is, is no fault of the document.
        try Task.checkCancellation()
        for plan in decided {
            if plan.decision.fault?.isPassing == true {
                postponed.append(plan.candidate)
            } else if let fault = plan.decision.fault, settings.preview == nil {
                settled.setAside(
                    plan.candidate, plan.candidate.deadLetter(rule: fault.rule, reason: fault.reason))
            } else if plan.hasNews {
                plans.append(plan)
            } else {
                settled.finished.append(plan.candidate)
                if !plan.decision.fired.isEmpty { settled.unchanged += 1 }
            }
        }
        try await finish(settled)
        return plans
    }

    /// How long what a pass over documents wrote counts as its own: as long as a pass, and the rest of one that was
    /// killed, may take. In seconds.
    private static let passSpan = 3600

    /// A revision that this rule set wrote is not decided again, also after a restart.
    private func withoutOwnRevisions(_ candidates: [Candidate]) async throws -> [Candidate] {
        let revisions = candidates.map { (id: $0.id, revision: $0.revision ?? RevisionID("")) }
        // A pass over documents looks again at what an earlier one wrote: time has gone on.
        let isPass = candidates.contains { $0.ticket == nil }
        let own = try await ledger.ownRevisions(
            among: revisions, since: isPass ? Timestamp.secondsNow - Self.passSpan : 0)
        guard !own.isEmpty else { return candidates }
        var settled = Settlement()
        settled.finished = own.map { candidates[$0] }
        try await finish(settled)
        return candidates.indices.filter { !own.contains($0) }.map { candidates[$0] }
    }

    /// Without documents that were written too often lately.
    private func withoutOverwritten(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard let limit = settings.ownWriteLimit else { return plans }
        let counts = try await ledger.ownWriteCounts(
            of: plans.map(\.candidate.id), since: Timestamp.secondsNow - limit.window)
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for (plan, count) in zip(plans, counts) {
            if plan.decision.isChanged, count >= limit.writes {
                let rule = plan.decision.fired.last.map { ruleSet.names[$0] }
                settled.setAside(plan.candidate, plan.candidate.deadLetter(rule: rule, reason: limit.reason))
            } else {
                rest.append(plan)
            }
        }
        try await finish(settled)
        return rest
    }

    /// The writes of the changed documents themselves, once the other documents that they led to are there. If one of
    /// those can't be written, the change is set aside whole.
    private func writeOthers(
        for plans: [Planner.Plan], _ tools: inout Tools
    ) async throws -> [PlannedWrite<Candidate>] {
        let failures = try await settleOthers(orders(of: plans), &tools)
        var settled = Settlement()
        var writes: [PlannedWrite<Candidate>] = []
        for (index, plan) in plans.enumerated() {
            if let reason = failures[index] {
                settled.setAside(plan.candidate, plan.candidate.deadLetter(reason: reason))
            } else if plan.decision.isChanged {
                writes.append(plan.write)
            } else {
                settled.finished.append(plan.candidate)
            }
        }
        try await finish(settled)
        return writes
    }

    /// The feed may show the documents before it is on disk who wrote them: until then nobody decides about them.
    private func settleOthers(
        _ orders: [OtherDocuments.Order], _ tools: inout Tools
    ) async throws -> [Int: String] {
        let held = orders.filter { $0.keyspace == nil }.map { DocumentID($0.effect.id) }
        await queue.hold(held)
        let failures: [Int: String]
        do { failures = try await tools.others.settle(orders) } catch {
            await queue.release(held)
            throw error
        }
        await queue.release(held)
        return failures
    }

    private func orders(of plans: [Planner.Plan]) -> [OtherDocuments.Order] {
        plans.enumerated().flatMap { index, plan in
            plan.decision.puts.map { OtherDocuments.Order(plan: index, effect: $0, home: gateway.url.keyspace) }
        }
    }

    /// Shows what would be done, in the order of the candidates, and does nothing.
    private func show(_ plans: [Planner.Plan], to preview: Preview) async throws {
        var settled = Settlement()
        for plan in plans {
            settled.finished.append(plan.candidate)
            if let fault = plan.decision.fault {
                settled.deadLetters.append(plan.candidate.deadLetter(rule: fault.rule, reason: fault.reason))
            }
            try await preview.show(plan.report)
            if plan.decision.fault == nil { settled.shown += 1 }
        }
        try await finish(settled)
    }
}
