internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// A dry run: decides everything and writes nothing.
extension BulkWriter {
    /// Shows what would be done, in the order of the candidates.
    ///
    /// - Returns: Documents that would have been `put` and on which rules may fire.
    func show(
        _ plans: [Planner.Plan], to preview: Preview, _ context: inout WriterContext
    ) async throws -> [Candidate] {
        let orders = try await orders(of: plans)
        let lookups = try await context.others.lookUp(orders)
        var settled = Settlement()
        var again: [Candidate] = []
        // A batch writes each document once, whatever it wants of it.
        var places: Set<DocumentPlace> = []
        for (index, plan) in plans.enumerated() {
            if context.previewed.released.contains(plan.candidate.id), plan.candidate.chain == nil {
                // Already decided, as it would be after the `put`.
                settled.passedOver.append(plan.candidate)
                continue
            }
            if let refusal = plan.refusal {
                settled.deadLetter(plan.candidate, refusal)
                // Only then does the report tell why nothing is done.
                if plan.decision.error != nil { try await preview.show(plan.report) }
                continue
            }
            let puts: [PreviewedPuts.Put]
            do throws(PutTarget.PutImpossible) {
                puts = try context.previewed.puts(for: orders.filter { $0.plan == index }, lookups)
            } catch {
                settled.deadLetter(plan.candidate, plan.candidate.deadLetter(reason: error.reason))
                continue
            }
            guard plan.decision.isChanged || !puts.isEmpty else {
                endWithoutWrite(plan, &settled)
                continue
            }
            context.previewed.note(puts)
            for candidate in puts.compactMap({ candidate($0, context.planner) }) {
                again.append(candidate)
                context.previewed.release(candidate.id)
            }
            if plan.decision.isChanged, context.mayPut {
                context.previewed.note(DocumentPlace(keyspace: nil, id: plan.candidate.id), plan.decision.document)
            }
            try await preview.show(plan.report)
            settled.shown += puts.count { places.insert($0.order.place).inserted } + (plan.decision.isChanged ? 1 : 0)
            if plan.decision.isDeletion { settled.shownDeletions += 1 }
            settled.end(plan.candidate, isWrite: false)
        }
        try await finish(settled)
        await shared.budget.take(bytes: again.reduce(0) { $0 + $1.cost }, documents: again.count)
        return again
    }

    private func candidate(_ put: PreviewedPuts.Put, _ planner: Planner) -> Candidate? {
        guard settings.decidesPuts, put.order.place.keyspace == nil,
            planner.decider.mayFire(on: put.document.root, isDeleted: false)
        else { return nil }
        var candidate = Candidate(id: put.order.place.id, revision: nil, document: put.document.bytes)
        candidate.chain = put.order.chain
        return candidate
    }
}
