internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
package import Rules

/// Receives what a dry run would do.
package struct Preview: Sendable {
    /// Called for each document that would change or whose rules fail, one at a time and in order.
    let show: @Sendable (DecisionReport) async throws -> Void

    /// - Parameter show: Called for each document that would change or whose rules fail, one at a time and in order. An
    ///   error that it throws ends the run.
    package init(show: @escaping @Sendable (DecisionReport) async throws -> Void) { self.show = show }
}

// A dry run decides everything and writes nothing. A run with a limit of changes skips what comes after the last one.
extension BulkWriter {
    /// Leaves out plans that want nothing but other documents which need no change.
    func withoutIdle(_ plans: [Planner.Plan], _ context: inout WriterContext) async throws -> [Planner.Plan] {
        let wanted = try await context.others.wanted(orders(of: plans), after: context.previewed)
        // A dry run without a limit searches when it shows the documents.
        let changing = settings.changeLimit == nil ? nil : try await plansChangingRelated(plans, &context)
        var settled = Settlement()
        var rest: [Planner.Plan] = []
        var idle: [Planner.Plan] = []
        for (index, plan) in plans.enumerated() {
            let decision = plan.decision
            let changesRelated = !decision.related.isEmpty && changing?.contains(index) ?? true
            if decision.isChanged || decision.puts.isEmpty && decision.related.isEmpty || !decision.outside.isEmpty
                || wanted.contains(index) || changesRelated || decision.error != nil
                || !decision.contributions.isEmpty
            {
                rest.append(plan)
            } else {
                idle.append(plan)
            }
        }
        // Under a limit of changes, only documents that are changed count.
        await endIdle(idle, counts: settings.changeLimit == nil, &settled)
        try await finish(settled)
        return rest
    }

    /// Leaves out all plans beyond the limit of changes. A second attempt at the same document is free.
    func allowed(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard settings.changeLimit != nil else { return plans }
        func isNew(_ plan: Planner.Plan) -> Bool {
            !plan.candidate.isCounted && plan.isEffective && plan.decision.error == nil
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
        await endIdle(idle, &settled)
        try await finish(settled)
        return rest
    }

    /// Shows what would be done, in the order of the candidates.
    ///
    /// - Returns: Documents that would have been `put` and on which rules may fire.
    func show(
        _ plans: [Planner.Plan], to preview: Preview, _ context: inout WriterContext
    ) async throws -> [Candidate] {
        let orders = orders(of: plans)
        let lookups = try await context.others.lookUp(orders)
        var shown = ShownBatch()
        for (index, plan) in plans.enumerated() {
            let wanted = orders.filter { $0.plan == index }
            try await show(plan, wanted, lookups, to: preview, &context, &shown)
        }
        try await finish(shown.settled)
        await shared.budget.take(bytes: shown.again.reduce(0) { $0 + $1.cost }, documents: shown.again.count)
        return shown.again
    }

    /// What a dry run has shown of a batch.
    private struct ShownBatch {
        var settled = Settlement()
        /// Documents that would have been `put` and on which rules may fire.
        var again: [Candidate] = []
        /// A batch writes each document once, whatever it wants of it.
        var places: Set<DocumentPlace> = []
    }

    private func show(
        _ plan: Planner.Plan, _ orders: [PutOrder], _ lookups: [DocumentPlace: DocumentLookup], to preview: Preview,
        _ context: inout WriterContext, _ shown: inout ShownBatch
    ) async throws {
        if context.previewed.released.contains(plan.candidate.id), plan.candidate.chain == nil {
            // Already decided, as it would be after the `put`.
            return shown.settled.passedOver.append(plan.candidate)
        }
        if let refusal = plan.refusal {
            shown.settled.deadLetter(plan.candidate, refusal)
            // Only then does the report tell why nothing is done.
            if plan.decision.error != nil { try await preview.show(plan.report) }
            return
        }
        let puts: [PreviewedPuts.Put]
        do throws(PlanFailure) { puts = try context.previewed.puts(for: orders, lookups) } catch {
            return shown.settled.deadLetter(plan.candidate, plan.candidate.deadLetter(error))
        }
        let related = try await previewRelated(plan, &context)
        if let failure = related.failure { return shown.settled.deadLetter(plan.candidate, failure) }
        let changed = related.findings.reduce(0) { $0 + $1.changed }
        guard
            plan.decision.isChanged || !puts.isEmpty || changed > 0 || !plan.decision.outside.isEmpty
                || !plan.decision.contributions.isEmpty || plan.decision.resolution != nil
        else {
            return endWithoutWrite(plan, &shown.settled)
        }
        context.previewed.note(puts)
        try await noteChains(of: puts, lookups, &context.previewed)
        for candidate in puts.compactMap({ candidate($0, context) }) {
            shown.again.append(candidate)
            context.previewed.release(candidate.id)
        }
        if plan.decision.isChanged, context.mayPut {
            context.previewed.note(DocumentPlace(keyspace: nil, id: plan.candidate.id), plan.decision.document)
        }
        try await preview.show(plan.report.with(related.findings))
        let written = puts.count { shown.places.insert($0.order.place).inserted }
        let isWritten = plan.decision.isChanged || plan.decision.resolution != nil
        shown.settled.shown += written + changed + (isWritten ? 1 : 0)
        shown.settled.shownDeletions += related.findings.reduce(0) { $0 + $1.deletions }
        if plan.decision.isDeletion { shown.settled.shownDeletions += 1 }
        shown.settled.end(plan.candidate, isWrite: false)
    }

    /// Notes which rules would have led to these documents.
    private func noteChains(
        of puts: [PreviewedPuts.Put], _ lookups: [DocumentPlace: DocumentLookup], _ previewed: inout PreviewedPuts
    ) async throws {
        for put in puts where put.order.place.keyspace == nil {
            let place = put.order.place
            var earlier = previewed.chains[place]
            if earlier == nil, let revision = lookups[place]?.revision {
                earlier = try await ledger.causes(of: [(place.id, revision)]).first
            }
            previewed.chains[place] = put.order.chain.written(over: earlier)
        }
    }

    private func candidate(_ put: PreviewedPuts.Put, _ context: WriterContext) -> Candidate? {
        guard settings.decidesPuts, put.order.place.keyspace == nil,
            context.planner.decider.mayFire(on: put.document.root, isDeleted: false)
        else { return nil }
        var candidate = Candidate(id: put.order.place.id, revision: nil, document: put.document.bytes)
        candidate.chain = context.previewed.chains[put.order.place] ?? put.order.chain
        return candidate
    }
}

/// How many documents a run may still change (`--limit`).
actor ChangeAllowance {
    private var left: Int?

    /// - Parameter limit: Nil: any number.
    init(limit: Int?) { left = limit }

    /// Never true without a limit.
    var isExhausted: Bool { left == 0 }

    /// Takes up to `count` of what is left, and returns how many.
    func take(_ count: Int) -> Int {
        guard let available = left else { return count }
        let taken = min(available, count)
        left = available - taken
        return taken
    }
}
