internal import GatewayClient
internal import Logging
internal import Rules

// What ends loops, and slows down what is written again and again.
extension BulkWriter {
    /// Without documents whose content has led to the same write too often: somebody undoes it each time.
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

    /// Without documents that rules led to which led to each other for too long.
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

    /// A plan by its place among those that are decided together.
    struct Suspect {
        let index: Int
        let plan: Planner.Plan
        var candidate: Candidate { plan.candidate }
    }

    /// Dead-letters those of the plans that would write something; the others have nothing to do.
    private func without(
        _ suspects: Set<Int>, _ plans: [Planner.Plan], _ context: inout WriterContext, letter: (Suspect) -> DeadLetter
    ) async throws -> [Planner.Plan] {
        guard !suspects.isEmpty else { return plans }
        let wanted = try await context.others.wanted(try await orders(of: plans).filter { suspects.contains($0.plan) })
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        for (index, plan) in plans.enumerated() {
            if suspects.contains(index), plan.decision.isChanged || wanted.contains(index) {
                settled.deadLetter(plan.candidate, letter(Suspect(index: index, plan: plan)))
            } else {
                rest.append(plan)
            }
        }
        try await finish(settled)
        return rest
    }

    /// Without documents that are written so often that they have to wait for their turn. The latest content is decided
    /// then.
    func withoutBusy(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        func place(_ plan: Planner.Plan) -> DocumentPlace { DocumentPlace(keyspace: nil, id: plan.candidate.id) }
        let due = await shared.busy.due(plans.compactMap { $0.decision.isChanged ? place($0) : nil })
        guard !due.isEmpty else { return plans }
        let waiting = plans.filter { due[place($0)] != nil && $0.decision.isChanged }
        await postpone(waiting.compactMap { plan in due[place(plan)].map { ($0, plan.candidate) } })
        await tell(of: waiting.map(place))
        return plans.filter { due[place($0)] == nil || !$0.decision.isChanged }
    }

    /// Once for each document, as long as it is busy.
    func tell(of places: [DocumentPlace]) async {
        for place in await shared.busy.untold(places) {
            logger.notice(
                "a document is written all the time; it is decided less often now, its latest content each time",
                metadata: ["id": "\(place.id)", "keyspace": "\(place.keyspace ?? "")"])
        }
    }
}
