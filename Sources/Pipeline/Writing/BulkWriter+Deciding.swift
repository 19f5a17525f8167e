internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// What comes before a changed document is written: the decision, and the other documents that it led to.
extension BulkWriter {
    /// What a decision leads to.
    struct Decided {
        /// The writes of the changed documents themselves, once everything that comes before them is done.
        var writes: [Planner.Write] = []
        /// To be settled again: read anew, or in a dry run what would have been put.
        var again: [Candidate] = []
    }

    /// - Parameters:
    ///   - open: Emptied.
    ///   - undecided: Takes those that could not be decided now.
    func decide(
        _ open: inout [Candidate], _ context: inout WriterContext, _ undecided: inout [Candidate]
    ) async throws -> Decided {
        var plans = try await plan(open, context.planner, &undecided)
        open = []
        CrashPoint.decided.pass()
        if settings.preview != nil || settings.changeLimit != nil {
            // What stands behind the last document that may be changed is not looked at.
            plans = try await allowed(try await withoutIdle(plans, &context))
        }
        await count(&plans)
        if let preview = settings.preview {
            return Decided(again: try await show(await admitted(plans), to: preview, &context))
        }
        plans = try await withoutFaults(plans)
        plans = try await withoutUndone(plans, &context)
        plans = try await withoutLongChains(plans, &context)
        plans = try await withoutBusy(plans)
        return try await writeOthers(for: plans, &context)
    }

    /// The plans with something to write, or to complain of. All others are answered for, but for those that could not be
    /// decided now.
    private func plan(
        _ candidates: [Candidate], _ planner: Planner, _ undecided: inout [Candidate]
    ) async throws -> [Planner.Plan] {
        var settled = Settlement()
        var plans: [Planner.Plan] = []
        let decided = await planner.plan(try await withoutOwnRevisions(candidates), &settled)
        // A program that was stopped because the run is, is no fault of the document.
        try Task.checkCancellation()
        var idle: [Planner.Plan] = []
        for plan in decided {
            if plan.decision.fault?.isPassing == true {
                undecided.append(plan.candidate)
            } else if plan.needsAction || settings.changeLimit != nil {
                plans.append(plan)
            } else {
                idle.append(plan)
            }
        }
        await count(&idle)
        for plan in await admitted(idle) { end(plan, &settled) }
        try await finish(settled)
        return plans
    }

    /// Counts the letters of rules that were skipped. Plans whose letters would be beyond the limit of errors are left
    /// out: they are not done with, and the run ends.
    private func admitted(_ plans: [Planner.Plan]) async -> [Planner.Plan] {
        guard plans.contains(where: { !$0.candidate.skippedRules.isEmpty }) else { return plans }
        var admitted: [Planner.Plan] = []
        for var plan in plans {
            let letters = plan.candidate.skippedRules.count - plan.candidate.countedSkips
            if letters > 0 {
                // All of a document's letters are kept, or none.
                guard await progress.admit(1, settings.errorLimit) == 1 else { continue }
                await progress.count { $0.deadLetters += letters - 1 }
                plan.candidate.countedSkips += letters
            }
            admitted.append(plan)
        }
        return admitted
    }

    /// A plan that needs no write.
    func end(_ plan: Planner.Plan, _ settled: inout Settlement) {
        settled.end(plan.candidate, isWrite: false)
        if !plan.decision.fired.isEmpty { settled.unchanged += 1 }
    }

    /// Counts what rules fired on, each candidate once.
    private func count(_ plans: inout [Planner.Plan]) async {
        var fired: [[Int]] = []
        for index in plans.indices where !plans[index].candidate.isCounted {
            let decision = plans[index].decision
            guard !decision.fired.isEmpty || decision.fault != nil || !decision.skipped.isEmpty else { continue }
            plans[index].candidate.isCounted = true
            fired.append(decision.fired)
        }
        guard !fired.isEmpty else { return }
        let names = shared.ruleSet.names
        await progress.count { [fired] counters in
            counters.matched += fired.count
            for rule in fired.joined() { counters.rules[names[rule], default: 0] += 1 }
        }
    }

    /// How long what a pass over documents wrote counts as its own: as long as a pass, and the rest of one that was
    /// killed, may take. In seconds.
    private static let passSpan = 3600

    /// A revision that this rule set decided to its end and wrote is not decided again, also after a restart.
    private func withoutOwnRevisions(_ candidates: [Candidate]) async throws -> [Candidate] {
        let revisions = candidates.map { (id: $0.id, revision: $0.revision ?? RevisionID("")) }
        // A pass over documents looks again at what an earlier one wrote: time has gone on.
        let since = settings.isPass ? Timestamp.secondsNow - Self.passSpan : nil
        let own = try await ledger.ownRevisions(among: revisions, since: since)
        guard !own.isEmpty else { return candidates }
        var settled = Settlement()
        var rest: [Candidate] = []
        for (index, candidate) in candidates.enumerated() {
            if own.contains(index), !candidate.isRetried {
                settled.passedOver.append(candidate)
            } else {
                rest.append(candidate)
            }
        }
        try await finish(settled)
        return rest
    }

    /// Without plans that want nothing but other documents which are as they should be already.
    private func withoutIdle(_ plans: [Planner.Plan], _ context: inout WriterContext) async throws -> [Planner.Plan] {
        let wanted = try await context.others.wanted(try await orders(of: plans))
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        var idle: [Planner.Plan] = []
        for (index, plan) in plans.enumerated() {
            if plan.decision.isChanged || plan.decision.puts.isEmpty || wanted.contains(index)
                || plan.decision.fault != nil
            {
                rest.append(plan)
            } else {
                idle.append(plan)
            }
        }
        // Where what is changed is limited, only that counts.
        if settings.changeLimit == nil { await count(&idle) }
        for plan in await admitted(idle) { end(plan, &settled) }
        try await finish(settled)
        return rest
    }

    /// As many plans as may still be carried out, and nothing that stands behind them. A second attempt does not count.
    private func allowed(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard settings.changeLimit != nil else { return plans }
        func isNew(_ plan: Planner.Plan) -> Bool {
            !plan.candidate.isCounted && plan.isEffective && plan.decision.fault == nil
        }
        var left = await shared.allowance.take(plans.count(where: isNew))
        let isExhausted = await shared.allowance.isExhausted
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        var idle: [Planner.Plan] = []
        for plan in plans {
            if left == 0, isExhausted, !plan.candidate.isCounted {
                settled.passedOver.append(plan.candidate)
                continue
            }
            if isNew(plan) { left -= 1 }
            if plan.needsAction { rest.append(plan) } else { idle.append(plan) }
        }
        await count(&idle)
        for plan in await admitted(idle) { end(plan, &settled) }
        try await finish(settled)
        return rest
    }

    private func withoutFaults(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard plans.contains(where: { $0.decision.fault != nil }) else { return await admitted(plans) }
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for plan in plans {
            if let fault = plan.decision.fault {
                settled.deadLetter(
                    plan.candidate, plan.candidate.deadLetter(rule: fault.rule, reason: fault.reason))
            } else {
                rest.append(plan)
            }
        }
        rest = await admitted(rest)
        try await finish(settled)
        return rest
    }

    /// Other documents that rules want, with the rules that led to them.
    func orders(of plans: [Planner.Plan]) async throws -> [PutOrder] {
        let putting = plans.indices.filter { !plans[$0].decision.puts.isEmpty }
        guard !putting.isEmpty else { return [] }
        let chains = try await ledger.chains(
            of: putting.map { (plans[$0].candidate.id, plans[$0].candidate.revision ?? RevisionID("")) })
        let home = shared.gateway.url.keyspace
        return zip(putting, chains).flatMap { index, recorded in
            let chain = plans[index].candidate.chain ?? recorded
            return plans[index].decision.puts.map { put in
                PutOrder(
                    plan: index, effect: put, home: home,
                    chain: chain.followed(by: shared.ruleSet.names[put.rule]))
            }
        }
    }

    /// The writes of the changed documents themselves, once the other documents that they led to are there. If one of
    /// those can't be written, the change is dead-lettered whole.
    private func writeOthers(for plans: [Planner.Plan], _ context: inout WriterContext) async throws -> Decided {
        var decided = Decided()
        let result = try await settleOthers(for: plans, &context)
        var settled = Settlement()
        var postponed: [(due: ContinuousClock.Instant, candidate: Candidate)] = []
        for (index, plan) in plans.enumerated() {
            if result.moved.contains(index) {
                var candidate = plan.candidate
                candidate.letGoOfContent()
                candidate.moves += 1
                if candidate.moves.isMultiple(of: Self.movesBeforeInsisting) {
                    postponed.append((.now + Self.waitAfterManyMoves, candidate))
                } else {
                    decided.again.append(candidate)
                }
            } else if let reason = result.failures[index] {
                settled.deadLetter(plan.candidate, plan.candidate.deadLetter(reason: reason))
            } else if let due = result.postponed[index] {
                postponed.append((due, plan.candidate))
            } else if plan.decision.isChanged {
                decided.writes.append(plan.write)
            } else {
                if !result.wrote.contains(index), !plan.decision.fired.isEmpty { settled.unchanged += 1 }
                settled.end(plan.candidate, isWrite: result.wrote.contains(index))
            }
        }
        try await finish(settled)
        await postpone(postponed)
        return decided
    }

    /// Decisions in a row that may be outdated at once, because others change the document all the time. After that, a
    /// change of the feed is carried out all the same: its successor follows. Others are decided later.
    private static let movesBeforeInsisting = 5
    private static let waitAfterManyMoves: Duration = .seconds(1)

    private func trigger(_ plan: Planner.Plan) -> OtherDocuments.Trigger {
        var trigger = plan.trigger
        let isOfFeed = !plan.candidate.tickets.isEmpty && !settings.isPass
        trigger.isFollowed = isOfFeed && plan.candidate.moves >= Self.movesBeforeInsisting
        return trigger
    }

    private func settleOthers(
        for plans: [Planner.Plan], _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        let orders = try await orders(of: plans)
        guard !orders.isEmpty else { return OtherDocuments.Result() }
        let triggers = plans.map(trigger)
        // The feed may show the documents before it is on disk which rules led to them: until then nobody decides.
        let held = orders.filter { $0.place.keyspace == nil }.map(\.place.id)
        await queue.hold(held)
        do {
            var result = try await context.others.settle(orders, triggers: triggers)
            // Its own write would show that a document has changed meanwhile. Where there is none, it is looked at.
            let unwritten = result.wrote.subtracting(result.ended).filter { !plans[$0].decision.isChanged }
            result.moved.formUnion(try await context.others.moved(among: unwritten, triggers))
            for write in result.written { logWritten(write) }
            await decideWritten(result.written.filter { $0.place.keyspace == nil }, context.planner)
            await queue.release(held)
            return result
        } catch {
            await queue.release(held)
            throw error
        }
    }

    /// A run that ends does not wait for the feed to bring what was put: it is decided in the same run.
    private func decideWritten(_ written: [OtherDocuments.Written], _ planner: Planner) async {
        guard settings.decidesPuts else { return }
        let candidates = written.filter { planner.decider.mayFire(on: $0.document.root, isDeleted: false) }
            .map { Candidate(id: $0.place.id, revision: nil, document: [], expectedBytes: $0.document.bytes.count) }
        guard !candidates.isEmpty else { return }
        await shared.budget.take(bytes: candidates.reduce(0) { $0 + $1.cost }, documents: candidates.count)
        let freed = await queue.submit(candidates)
        await shared.budget.giveBack(bytes: freed.bytes, documents: freed.documents)
    }
}
