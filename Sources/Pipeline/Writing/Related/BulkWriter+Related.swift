internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// The documents that selectors of rules match: they are found and written before the changed documents.
extension BulkWriter {
    /// What the decisions want of related documents.
    func relatedOrders(of plans: [Planner.Plan]) -> [RelatedOrder] {
        let names = shared.ruleSet.names
        return plans.enumerated().flatMap { index, plan -> [RelatedOrder] in
            guard !plan.decision.related.isEmpty, plan.refusal == nil else { return [] }
            let candidate = plan.candidate
            let input = DecisionInput(
                plan.report.document, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json)
            return plan.decision.related.map { effect in
                let rule = names[effect.origin.rule]
                let chain = (plan.chain ?? RuleChain()).followed(by: rule)
                return RelatedOrder(
                    plan: index, effect: effect, rule: rule, input: input, chain: chain,
                    refusal: chain.isTooLong ? chain.reason : plan.refusalOfRelated)
            }
        }
    }

    /// Finds the related documents, and writes those that need it. Until the ledger knows what led to them, nobody
    /// decides them.
    ///
    /// - Parameter others: Plans whose other documents could not be written are left out.
    /// - Returns: The results for both.
    func writeRelated(
        for plans: [Planner.Plan], after others: OtherDocuments.Result, _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        var result = others
        var waiting = relatedOrders(of: plans)
        guard !waiting.isEmpty else { return others }
        let triggers = plans.map(trigger)
        while true {
            waiting.removeAll { result.ended.contains($0.plan) }
            guard let (batch, found) = try await find(&waiting, &context, &result) else { break }
            var pages = RelatedPages(found, size: limits.documents)
            while var targets = pages.next() {
                while !targets.isEmpty { targets = try await write(targets, batch, triggers, &context, &result) }
            }
        }
        try shared.comparison.check()
        // A trigger that is written itself gets a conflict if it has changed. The others are checked here.
        let unwritten = result.plansWithWrites.subtracting(result.ended).filter { !triggers[$0].isWritten }
        try await context.others.noteOutdated(among: unwritten, triggers, &result)
        return result
    }

    /// Searches for the documents of the first orders: as many as the memory allows. Takes these orders from `orders`.
    ///
    /// - Returns: The orders whose documents may be changed, and these documents; nil if no order was left.
    private func find(
        _ orders: inout [RelatedOrder], _ context: inout WriterContext, _ result: inout OtherDocuments.Result
    ) async throws -> (RelatedBatch, [[DocumentID]])? {
        guard !orders.isEmpty else { return nil }
        let answers = try await context.search.find(orders.map(\.query))
        var batch: [RelatedOrder] = []
        var found: [[DocumentID]] = []
        for (order, documents) in zip(orders, answers) {
            switch documents {
            case .found(let ids):
                batch.append(order)
                found.append(ids)
            case .tooMany:
                result.failures[order.plan] = PlanFailure(rule: order.rule, reason: order.tooMany)
            }
        }
        orders.removeFirst(answers.count)
        return (RelatedBatch(batch, shared.ruleSet, now: settings.now(), stored: shared.comparison.reader), found)
    }

    /// - Returns: What must be read again.
    private func write(
        _ page: [RelatedTarget], _ batch: RelatedBatch, _ triggers: [PutTrigger], _ context: inout WriterContext,
        _ result: inout OtherDocuments.Result
    ) async throws -> [RelatedTarget] {
        let ended = result.ended
        var targets = page.filter { !$0.orders.allSatisfy { ended.contains(batch.orders[$0].plan) } }
        guard !targets.isEmpty else { return [] }
        if batch.orders.contains(where: \.effect.mayPut) {
            let orders = try await context.others.puts(
                of: &targets, batch, home: shared.gateway.url.keyspace, &result)
            result.merge(try await put(orders, triggers, &context))
        }
        // The feed may show these documents before the ledger has their rule chains on disk.
        let held = targets.map(\.id)
        await queue.hold(held)
        do {
            let again = try await context.others.write(targets, batch, triggers: triggers, &result)
            noteWritten(result.documents)
            await decideWritten(result.documents, context.planner)
            // There may be very many.
            result.documents = []
            await queue.release(held)
            return again
        } catch {
            await queue.release(held)
            throw error
        }
    }

    // MARK: - Without writing

    /// The plans that would change related documents, given these as they are now. Writes nothing.
    func plansChangingRelated(
        _ plans: [Planner.Plan], _ context: inout WriterContext
    ) async throws -> Set<Int> {
        var wanted: Set<Int> = []
        let result = try await survey(relatedOrders(of: plans), &context) { needs in
            // One document is enough.
            wanted.formUnion(needs.plans)
            return wanted
        }
        // What is impossible must be reported.
        return wanted.union(result.failures.keys)
    }

    /// What would become of the documents related to one changed document.
    ///
    /// - Returns: For each of the decision's effects what was found; and why the change would become a dead letter, nil if
    ///   it would not.
    func previewRelated(
        _ plan: Planner.Plan, _ context: inout WriterContext
    ) async throws -> (findings: [RelatedFinding], failure: DeadLetter?) {
        let orders = relatedOrders(of: [plan])
        var findings = orders.map { _ in RelatedFinding() }
        let names = shared.ruleSet.names
        let result = try await survey(orders, &context) { needs in
            for need in needs.needs {
                for order in need.target.orders {
                    guard
                        let place = orders.firstIndex(where: {
                            $0.effect.origin == needs.batch.orders[order].effect.origin
                        })
                    else { continue }
                    findings[place].noteFound(1)
                    guard need.isWrite, need.orders.last == order, let before = need.before,
                        let decision = need.decision
                    else { continue }
                    findings[place].noteChange(DecisionReport(before, decision, names: names))
                }
            }
            return []
        }
        let failure = result.failures[0].map { plan.candidate.deadLetter($0) }
        return (findings, failure)
    }

    /// Finds related documents, reads them and decides about them, page by page.
    ///
    /// - Parameter take: Returns the plans of which no further documents are wanted.
    private func survey(
        _ orders: [RelatedOrder], _ context: inout WriterContext, _ take: (RelatedNeeds) -> Set<Int>
    ) async throws -> OtherDocuments.Result {
        var result = OtherDocuments.Result()
        var waiting = orders
        var ended: Set<Int> = []
        while let (batch, found) = try await find(&waiting, &context, &result) {
            var pages = RelatedPages(found, size: limits.documents)
            while var targets = pages.next() {
                targets.removeAll { $0.orders.allSatisfy { ended.contains(batch.orders[$0].plan) } }
                while !targets.isEmpty {
                    let needs = try await context.others.survey(&targets, batch, ended: ended)
                    result.note(needs)
                    ended.formUnion(result.failures.keys)
                    ended.formUnion(take(needs))
                }
            }
            ended.formUnion(result.failures.keys)
            waiting.removeAll { ended.contains($0.plan) }
        }
        return result
    }
}
