internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// The other documents that a decision wants, before the changed document itself is written.
extension BulkWriter {
    /// The other documents that rules want, with the rules that led to them.
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

    /// Writes the other documents, then returns the writes of the changed documents themselves. If another document
    /// can't be written, the change is dead-lettered as a whole.
    func writeOthers(for plans: [Planner.Plan], _ context: inout WriterContext) async throws -> Decided {
        var decided = Decided()
        let result = try await putOthers(for: plans, &context)
        var settled = Settlement()
        var postponed: [(due: ContinuousClock.Instant, candidate: Candidate)] = []
        for (index, plan) in plans.enumerated() {
            if result.moved.contains(index) {
                var candidate = plan.candidate
                candidate.dropContent()
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

    /// How many consecutive decisions may be outdated at once because the document keeps changing. After that, a change
    /// from the feed is carried out anyway, since the feed will bring its successor. Others are postponed.
    private static let movesBeforeInsisting = 5
    private static let waitAfterManyMoves: Duration = .seconds(1)

    private func trigger(_ plan: Planner.Plan) -> PutTrigger {
        let isOfFeed = !plan.candidate.tickets.isEmpty && !settings.isPass
        return PutTrigger(
            plan, isFollowed: isOfFeed && plan.candidate.moves >= Self.movesBeforeInsisting)
    }

    private func putOthers(
        for plans: [Planner.Plan], _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        let orders = try await orders(of: plans)
        guard !orders.isEmpty else { return OtherDocuments.Result() }
        // The feed may show these documents before the ledger has their rule chains on disk: nobody may decide them
        // until then.
        let held = orders.filter { $0.place.keyspace == nil }.map(\.place.id)
        await queue.hold(held)
        do {
            let result = try await context.others.write(orders, triggers: plans.map(trigger))
            for write in result.written { logWritten(write) }
            await decideWritten(result.written.filter { $0.place.keyspace == nil }, context.planner)
            await queue.release(held)
            return result
        } catch {
            await queue.release(held)
            throw error
        }
    }

    /// A run that ends does not wait for the feed to bring what was `put`: it decides that itself.
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
