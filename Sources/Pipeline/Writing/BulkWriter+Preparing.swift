internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

// What comes between a decision and the write of the changed document: guards that end loops and slow down repeated
// writes, and the other documents that rules `put`.
extension BulkWriter {
    /// Asks the ledger, once per batch, which rules led to the documents whose decisions want other documents.
    func noteChains(_ plans: inout [Planner.Plan]) async throws {
        let putting = plans.indices.filter { !plans[$0].decision.puts.isEmpty }
        guard !putting.isEmpty else { return }
        let chains = try await ledger.chains(
            of: putting.map { (plans[$0].candidate.id, plans[$0].candidate.revision ?? RevisionID("")) })
        for (index, recorded) in zip(putting, chains) {
            plans[index].chain = plans[index].candidate.chain ?? recorded
        }
    }

    /// The other documents that rules want, with the rules that led to them.
    func orders(of plans: [Planner.Plan]) -> [PutOrder] {
        let home = shared.gateway.url.keyspace
        var orders: [PutOrder] = []
        for (index, plan) in plans.enumerated() {
            guard let chain = plan.chain else { continue }
            orders += plan.decision.puts.map { put in
                PutOrder(
                    plan: index, effect: put, home: home, chain: chain.followed(by: shared.ruleSet.names[put.rule]))
            }
        }
        return orders
    }

    /// Notes which plans must not be carried out: those whose rules failed, those that somebody undoes each time, and
    /// those that would continue too long a chain of `put`s. A dry run and a run refuse the same.
    func noteRefusals(_ plans: inout [Planner.Plan], _ context: inout WriterContext) async throws {
        for index in plans.indices {
            guard let error = plans[index].decision.error else { continue }
            plans[index].refusal = plans[index].candidate.deadLetter(rule: error.rule, reason: error.reason)
        }
        let orders = orders(of: plans)
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
    private func logBusy(_ places: [DocumentPlace]) async {
        for place in await shared.busy.notYetLogged(places) {
            logger.notice(
                "a document is written very often; it is now decided less often, each time with its latest content",
                metadata: [LogKey.id: "\(place.id)", LogKey.keyspace: "\(place.keyspace ?? "")"])
        }
    }

    // MARK: - Other documents

    /// Writes the other documents, then returns the writes of the changed documents themselves. If another document
    /// can't be written, the change is dead-lettered as a whole.
    func writeOthers(for plans: [Planner.Plan], _ context: inout WriterContext) async throws -> Decided {
        var decided = Decided()
        let result = try await putOthers(for: plans, &context)
        var settled = Settlement()
        var postponed: [(due: ContinuousClock.Instant, candidate: Candidate)] = []
        for (index, plan) in plans.enumerated() {
            if result.outdated.contains(index) {
                var candidate = plan.candidate
                candidate.dropContent()
                candidate.outdatedDecisions += 1
                if candidate.outdatedDecisions.isMultiple(of: Self.outdatedBeforeInsisting) {
                    postponed.append((.now + AttemptLimits.contestedWait, candidate))
                } else {
                    decided.again.append(candidate)
                }
            } else if let reason = result.failures[index] {
                settled.deadLetter(plan.candidate, plan.candidate.deadLetter(reason: reason))
            } else if let due = result.postponed[index] {
                postponed.append((due, plan.candidate))
            } else if plan.decision.isChanged {
                decided.writes.append(plan.write(keepsContent: settings.observer?.wantsDocuments == true))
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
    private static let outdatedBeforeInsisting = 5

    private func trigger(_ plan: Planner.Plan) -> PutTrigger {
        let isOfFeed = !plan.candidate.tickets.isEmpty && !settings.isPass
        return PutTrigger(
            plan, isFollowed: isOfFeed && plan.candidate.outdatedDecisions >= Self.outdatedBeforeInsisting)
    }

    private func putOthers(
        for plans: [Planner.Plan], _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        let orders = orders(of: plans)
        guard !orders.isEmpty else { return OtherDocuments.Result() }
        // The feed may show these documents before the ledger has their rule chains on disk: nobody may decide them
        // until then.
        let held = orders.filter { $0.place.keyspace == nil }.map(\.place.id)
        await queue.hold(held)
        do {
            let result = try await context.others.write(orders, triggers: plans.map(trigger))
            noteWritten(result.written)
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

    /// Tells the observer and the log.
    private func noteWritten(_ written: [OtherDocuments.Written]) {
        if let observer = settings.observer, !written.isEmpty {
            observer.note(
                .wrote(
                    written.suffix(observer.wantedWrites).map { other in
                        WrittenDocument(
                            id: other.place.id, keyspace: other.place.keyspace, revision: other.revision,
                            rules: other.rules, isDeletion: false)
                    }))
        }
        guard logger.logLevel <= .debug else { return }
        for other in written {
            var metadata: Logger.Metadata = [
                LogKey.id: "\(other.place.id)", LogKey.revision: "\(other.revision)",
                LogKey.rules: .array(other.rules.map { "\($0)" }),
            ]
            metadata["keyspace"] = other.place.keyspace.map { "\($0)" }
            logger.debug("wrote another document", metadata: metadata)
        }
    }
}
