internal import GatewayClient
internal import Logging
internal import Rules

// Guards that end loops and slow down repeated writes.
extension BulkWriter {
    /// Dead-letters documents whose content has led to a write too often: somebody undoes it each time.
    func withoutUndone(_ plans: [Planner.Plan], _ context: inout WriterContext) async throws -> [Planner.Plan] {
        guard let limits = settings.effectLimits else { return plans }
        let effects = plans.map { plan in
            Ledger.Effect(id: plan.candidate.id, content: plan.candidate.content ?? ContentFingerprint(bytes: []))
        }
        let counts = try await ledger.effectCounts(of: effects, window: limits.window)
        var reasons: [Int: String] = [:]
        for (index, count) in counts.enumerated() { reasons[index] = limits.reason(count) }
        return try await without(Set(reasons.keys), plans, &context) { [reasons] plan in
            plan.candidate.deadLetter(reason: reasons[plan.index] ?? "")
        }
    }

    /// Dead-letters documents whose rules would continue too long a chain of `put`s.
    func withoutLongChains(_ plans: [Planner.Plan], _ context: inout WriterContext) async throws -> [Planner.Plan] {
        let long = try await orders(of: plans).filter(\.chain.isTooLong)
        guard !long.isEmpty else { return plans }
        let chains = Dictionary(long.map { ($0.plan, $0.chain) }) { first, _ in first }
        return try await without(Set(chains.keys), plans, &context) { [names = shared.ruleSet.names] plan in
            let chain = chains[plan.index]
            return plan.candidate.deadLetter(
                rule: plan.plan.decision.puts.last.map { names[$0.rule] }, reason: chain?.reason ?? "")
        }
    }

    /// A plan, with its index among those that are decided together.
    struct Suspect {
        let index: Int
        let plan: Planner.Plan
        var candidate: Candidate { plan.candidate }
    }

    /// Dead-letters those of the plans that would write something; the others have nothing to do anyway.
    private func without(
        _ suspects: Set<Int>, _ plans: [Planner.Plan], _ context: inout WriterContext,
        deadLetter: (Suspect) -> DeadLetter
    ) async throws -> [Planner.Plan] {
        guard !suspects.isEmpty else { return plans }
        let wanted = try await context.others.wanted(try await orders(of: plans).filter { suspects.contains($0.plan) })
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for (index, plan) in plans.enumerated() {
            if suspects.contains(index), plan.decision.isChanged || wanted.contains(index) {
                settled.deadLetter(plan.candidate, deadLetter(Suspect(index: index, plan: plan)))
            } else {
                rest.append(plan)
            }
        }
        try await finish(settled)
        return rest
    }

    /// Postpones documents that are written too often. Their latest content is decided later.
    func withoutBusy(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        func place(_ plan: Planner.Plan) -> DocumentPlace { DocumentPlace(keyspace: nil, id: plan.candidate.id) }
        let due = await shared.busy.due(plans.compactMap { $0.decision.isChanged ? place($0) : nil })
        guard !due.isEmpty else { return plans }
        let waiting = plans.filter { due[place($0)] != nil && $0.decision.isChanged }
        await postpone(waiting.compactMap { plan in due[place(plan)].map { ($0, plan.candidate) } })
        await tell(of: waiting.map(place))
        return plans.filter { due[place($0)] == nil || !$0.decision.isChanged }
    }

    /// Logs each document once while it is busy.
    func tell(of places: [DocumentPlace]) async {
        for place in await shared.busy.untold(places) {
            logger.notice(
                "a document is written very often; it is now decided less often, each time with its latest content",
                metadata: ["id": "\(place.id)", "keyspace": "\(place.keyspace ?? "")"])
        }
    }
}
