internal import GatewayClient
internal import Rules

// What decisions say about counts: it is saved when their candidates are settled.
extension BulkWriter {
    /// Notes on each candidate what it adds to totals, and refuses plans that would continue too long a chain of rules.
    /// Asks the ledger, once per batch, which rules led to the documents that add anything.
    func noteContributions(_ plans: inout [Planner.Plan]) async throws {
        guard let counts = shared.counts, counts.role != .helper else { return }
        let adding = plans.indices.filter { !plans[$0].decision.contributions.isEmpty }
        let chains = try await chains(of: adding.map { plans[$0].candidate })
        // A document in conflict adds what it did, until it is resolved.
        for index in plans.indices where plans[index].decision.resolution == nil {
            plans[index].candidate.contributed = counts.contributed(plans[index].decision.contributions)
        }
        let names = shared.ruleSet.names
        for (index, chain) in zip(adding, chains) {
            plans[index].candidate.contributed?.chain = chain
            guard let rule = plans[index].decision.contributions.first.map({ names[$0.rule] }) else { continue }
            let next = chain.followed(by: rule)
            // What it added before stays: taking it back would be the next step of the chain.
            if next.isTooLong { plans[index].candidate.contributed = nil }
            if next.isTooLong {
                plans[index].refusal = plans[index].candidate.deadLetter(rule: rule, reason: next.reason)
            }
        }
    }

    /// Settles a document that was only to be counted. One that can't be counted adds nothing. If it came from a pass,
    /// it becomes a dead letter; if it was dead-lettered before, that is known.
    func end(countsOnly plan: Planner.Plan, _ settled: inout Settlement) {
        if let error = plan.decision.error, plan.candidate.passCandidates > 0,
            !shared.deadLettered.knows(plan.candidate.id)
        {
            settled.deadLetter(plan.candidate, plan.candidate.deadLetter(rule: error.rule, reason: error.reason))
        } else {
            settled.passedOver.append(plan.candidate)
        }
    }
}
