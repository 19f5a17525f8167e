internal import GatewayClient
internal import Logging
internal import Rules

// Guards that end loops and slow down repeated writes.
extension BulkWriter {
    /// Notes which plans must not be carried out: those whose rules failed, those that somebody undoes each time, and
    /// those that would continue too long a chain of `put`s. A dry run and a run refuse the same.
    func judge(_ plans: inout [Planner.Plan], _ context: inout WriterContext) async throws {
        for index in plans.indices {
            guard let error = plans[index].decision.error else { continue }
            plans[index].refusal = plans[index].candidate.deadLetter(rule: error.rule, reason: error.reason)
        }
        let orders = try await orders(of: plans)
        var refusals = longChains(plans, orders)
        refusals.merge(try await undoneEffects(plans)) { _, undone in undone }
        guard !refusals.isEmpty else { return }
        // Those that would write nothing have nothing to do anyway.
        let wanted = try await context.others.wanted(
            orders.filter { refusals[$0.plan] != nil }, after: context.previewed)
        for (index, refusal) in refusals where plans[index].refusal == nil {
            if plans[index].decision.isChanged || wanted.contains(index) { plans[index].refusal = refusal }
        }
    }

    /// Plans whose content has led to a write too often: somebody undoes it each time.
    private func undoneEffects(_ plans: [Planner.Plan]) async throws -> [Int: DeadLetter] {
        guard let limits = settings.effectLimits else { return [:] }
        let effects = plans.map { plan in
            Ledger.Effect(id: plan.candidate.id, content: plan.candidate.content ?? ContentFingerprint(bytes: []))
        }
        var refusals: [Int: DeadLetter] = [:]
        for (index, count) in try await ledger.effectCounts(of: effects, window: limits.window).enumerated() {
            refusals[index] = limits.reason(count).map { plans[index].candidate.deadLetter(reason: $0) }
        }
        return refusals
    }

    /// Plans whose rules would continue too long a chain of `put`s.
    private func longChains(_ plans: [Planner.Plan], _ orders: [PutOrder]) -> [Int: DeadLetter] {
        let names = shared.ruleSet.names
        return orders.reduce(into: [:]) { refusals, order in
            guard order.chain.isTooLong, refusals[order.plan] == nil else { return }
            let plan = plans[order.plan]
            refusals[order.plan] = plan.candidate.deadLetter(
                rule: plan.decision.puts.last.map { names[$0.rule] }, reason: order.chain.reason)
        }
    }

    /// Dead-letters the plans that must not be carried out.
    func withoutRefused(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard plans.contains(where: { $0.refusal != nil }) else { return plans }
        var settled = Settlement()
        for plan in plans {
            if let refusal = plan.refusal { settled.deadLetter(plan.candidate, refusal) }
        }
        try await finish(settled)
        return plans.filter { $0.refusal == nil }
    }

    /// Postpones documents that are written too often. Their latest content is decided later.
    func withoutBusy(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        func place(_ plan: Planner.Plan) -> DocumentPlace { DocumentPlace(keyspace: nil, id: plan.candidate.id) }
        let due = await shared.busy.due(plans.compactMap { $0.decision.isChanged ? place($0) : nil })
        guard !due.isEmpty else { return plans }
        let waiting = plans.filter { due[place($0)] != nil && $0.decision.isChanged }
        await postpone(waiting.compactMap { plan in due[place(plan)].map { ($0, plan.candidate) } })
        await logBusy(waiting.map(place))
        return plans.filter { due[place($0)] == nil || !$0.decision.isChanged }
    }

    /// Logs each document once while it is busy.
    func logBusy(_ places: [DocumentPlace]) async {
        for place in await shared.busy.notYetLogged(places) {
            logger.notice(
                "a document is written very often; it is now decided less often, each time with its latest content",
                metadata: ["id": "\(place.id)", "keyspace": "\(place.keyspace ?? "")"])
        }
    }
}
