internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

// The other documents that rules `put`: they are written before the changed documents.
extension BulkWriter {
    /// Asks the ledger, once per batch, which rules led to the documents whose decisions reach further than these. If
    /// rules write other documents, also for those that are only written themselves: their new revisions keep the chain.
    func noteChains(_ plans: inout [Planner.Plan], mayPut: Bool) async throws {
        let asked = plans.indices.filter { plans[$0].reachesFurther || mayPut && plans[$0].decision.isChanged }
        guard !asked.isEmpty else { return }
        for (index, chain) in zip(asked, try await chains(of: asked.map { plans[$0].candidate })) {
            plans[index].chain = chain
            plans[index].candidate.kept = mayPut && !chain.rules.isEmpty ? chain : nil
        }
    }

    /// The rules that led to documents. A retry begins a new chain, and so does a pass over all documents.
    func chains(of candidates: [Candidate]) async throws -> [RuleChain] {
        let recorded = try await ledger.causes(of: candidates.map { ($0.id, $0.revision ?? RevisionID("")) })
        return zip(candidates, recorded).map { candidate, recorded in
            let chain = candidate.chain ?? recorded
            let isBegun = candidate.isRetried || settings.isPass && candidate.isOfFeed
            return isBegun ? .begun(by: candidate.id, after: chain) : chain
        }
    }

    /// The other documents that rules want, with the rules that led to them.
    func orders(of plans: [Planner.Plan]) -> [PutOrder] {
        let home = shared.gateway.url.keyspace
        var orders: [PutOrder] = []
        for (index, plan) in plans.enumerated() {
            guard let chain = plan.chain else { continue }
            orders += plan.decision.puts.map { put in
                let rule = shared.ruleSet.names[put.rule]
                return PutOrder(plan: index, effect: put, rule: rule, home: home, chain: chain.followed(by: rule))
            }
        }
        return orders
    }

    /// Plans whose rules would continue too long a chain of `put`s, or of answers that are written.
    func longChains(_ plans: [Planner.Plan], _ orders: [PutOrder]) -> [Int: DeadLetter] {
        orders.reduce(into: [:]) { refusals, order in
            guard order.chain.isTooLong, refusals[order.plan] == nil else { return }
            refusals[order.plan] = plans[order.plan].candidate.deadLetter(rule: order.rule, reason: order.chain.reason)
        }.merging(longAnswerChains(plans)) { put, _ in put }
    }

    /// Plans whose receivers' answers would continue too long a chain.
    private func longAnswerChains(_ plans: [Planner.Plan]) -> [Int: DeadLetter] {
        let names = shared.ruleSet.names
        return plans.enumerated().reduce(into: [:]) { refusals, entry in
            let (index, plan) = entry
            guard let rule = plan.decision.outside.first(where: \.changesDocument)?.origin.rule else { return }
            let chain = (plan.chain ?? RuleChain()).followed(by: names[rule])
            guard chain.isTooLong else { return }
            refusals[index] = plan.candidate.deadLetter(rule: names[rule], reason: chain.reason)
        }
    }

    /// Writes the other documents. Until the ledger knows what led to them, nobody decides them.
    func writeOthers(
        for plans: [Planner.Plan], _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        try await put(orders(of: plans), plans.map(trigger), &context)
    }

    /// - Parameter triggers: One for each plan.
    func put(
        _ orders: [PutOrder], _ triggers: [PutTrigger], _ context: inout WriterContext
    ) async throws -> OtherDocuments.Result {
        guard !orders.isEmpty else { return OtherDocuments.Result() }
        // The feed may show these documents before the ledger has their rule chains on disk.
        let held = orders.filter { $0.place.keyspace == nil }.map(\.place.id)
        await queue.hold(held)
        do {
            var result = try await context.others.write(orders, triggers: triggers)
            noteWritten(result.documents)
            await decideWritten(result.documents.filter { $0.place.keyspace == nil }, context.planner)
            result.documents = []
            await queue.release(held)
            return result
        } catch {
            await queue.release(held)
            throw error
        }
    }

    /// How many consecutive decisions may be outdated at once because the document keeps changing. After that, a change
    /// from the feed is carried out anyway, since the feed will bring its successor. Others are postponed.
    static let outdatedBeforeInsisting = 5

    func trigger(_ plan: Planner.Plan) -> PutTrigger {
        let isOfFeed = plan.candidate.isOfFeed && !settings.isPass
        return PutTrigger(
            plan, willBeDecidedAgain: isOfFeed && plan.candidate.outdatedDecisions >= Self.outdatedBeforeInsisting)
    }

    /// A run that ends does not wait for the feed to bring what was `put`: it decides that itself.
    func decideWritten(_ written: [OtherDocuments.Written], _ planner: Planner) async {
        guard settings.decidesPuts else { return }
        // A document that no rule is for any more may still add to a total.
        let countsAll = shared.counts?.role == .keeper
        if countsAll { shared.counts?.noteDecided(written) }
        let candidates = written.filter { other in
            // A pass decides no tombstones.
            !(other.isDeletion && settings.isPass)
                && (countsAll || planner.decider.mayFire(on: other.document.root, isDeleted: other.isDeletion))
        }.map { other in
            other.isDeletion
                ? Candidate(
                    id: other.place.id, revision: other.revision, isDeleted: true, document: other.tombstone)
                : Candidate(
                    id: other.place.id, revision: nil, document: [], expectedBytes: other.document.bytes.count)
        }
        guard !candidates.isEmpty else { return }
        await shared.budget.take(bytes: candidates.reduce(0) { $0 + $1.cost }, documents: candidates.count)
        let freed = await queue.submit(candidates)
        await shared.budget.giveBack(bytes: freed.bytes, documents: freed.documents)
    }

    /// A run that ends does not wait for the feed to bring documents into which it wrote answers of receivers, or whose
    /// conflicts it resolved.
    ///
    /// To be called before their candidates are finished, behind which these wait: otherwise the run could end in between.
    func decideAgain(_ written: [DocumentID]) async {
        guard settings.decidesPuts, !written.isEmpty else { return }
        let candidates = written.map { Candidate(id: $0, revision: nil, document: []) }
        await shared.budget.take(bytes: 0, documents: candidates.count)
        let freed = await queue.submit(candidates)
        await shared.budget.giveBack(bytes: freed.bytes, documents: freed.documents)
    }

    /// Tells the observer and the log.
    func noteWritten(_ written: [OtherDocuments.Written]) {
        if let observer = settings.observer, !written.isEmpty {
            observer.note(
                .wrote(
                    written.suffix(observer.wantedWrites).map { other in
                        WrittenDocument(
                            id: other.place.id, keyspace: other.place.keyspace, revision: other.revision,
                            rules: other.rules, isDeletion: other.isDeletion)
                    }))
        }
        guard logger.logLevel <= .debug else { return }
        for other in written {
            var metadata: Logger.Metadata = [
                LogKey.id: "\(other.place.id)", LogKey.revision: "\(other.revision)",
                LogKey.rules: .array(other.rules.map { "\($0)" }),
            ]
            metadata[LogKey.keyspace] = other.place.keyspace.map { "\($0)" }
            logger.debug("wrote another document", metadata: metadata)
        }
    }
}
