internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes the other documents that rules `put`.
struct PutStage: EffectStage {
    let context: RoundContext
    var targets: TargetWriter

    func applies(to plan: Plan) -> Bool { !plan.decision.puts.isEmpty }

    mutating func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer] {
        if InjectedFault.skippedPut.isActive { return plans.map { _ in .done(hasEffect: true) } }
        let result = try await write(context.puts(of: plans), plans.map(context.trigger))
        return plans.indices.map(result.answer)
    }

    /// Writes documents. They are not decided until the state has their rule chains.
    ///
    /// - Parameter triggers: One for each plan.
    mutating func write(_ batch: PutBatch, _ triggers: [Trigger]) async throws -> TargetResult {
        guard !batch.orders.isEmpty else { return TargetResult() }
        // The feed may return these documents before the state has their rule chains on disk.
        let held = batch.orders.filter { $0.place.keyspace == nil }.map(\.place.id)
        let queue = context.flow.queue
        await queue.hold(held)
        do {
            var result = try await targets.write(batch, triggers: triggers)
            context.settings.observe(result.documents)
            context.log(result.documents)
            await decideWrittenTargets(result.documents.filter { $0.place.keyspace == nil })
            result.documents = []
            await queue.release(held)
            return result
        } catch {
            await queue.release(held)
            throw error
        }
    }

    /// A run with an end does not wait until the feed returns its writes to other documents: it decides them itself.
    func decideWrittenTargets(_ written: [WrittenTarget]) async {
        let mode = context.mode
        guard mode.endsOnceSettled else { return }
        // A document may still add to a total when rules no longer fire on it.
        let countsDocuments = context.state.counts?.requestsRecounts == false
        if countsDocuments { context.state.counts?.noteDecided(written) }
        let candidates = written.filter { other in
            // A pass decides no tombstones.
            !(other.isDeletion && !mode.decidesChanges)
                && (countsDocuments || other.rulesMayFire)
        }.map { other in
            other.isDeletion
                ? Candidate(ofDeletion: other.place.id, other.revision, sequence: nil, readsMembers: false)
                : Candidate(unread: other.place.id, expectedBytes: other.byteCount)
        }
        await context.flow.submit(candidates)
    }

    /// The plans that would change another document, given the current documents. Writes nothing.
    ///
    /// - Parameter previewed: What a dry run would have written before.
    mutating func wanted(_ plans: [StagedPlan], after previewed: PreviewedPuts) async throws -> Set<Int> {
        let batch = context.puts(of: plans)
        var wanted: Set<Int> = []
        try await targets.survey(batch) { target, lookup in
            let current = previewed.current(target.place, lookup)
            for order in target.orders.map({ batch.orders[$0] }) {
                // Impossible orders must be reported.
                do { if try PutBatch.write(order.effect, over: current) != nil { wanted.insert(order.plan) } } catch {
                    wanted.insert(order.plan)
                }
            }
        }
        return wanted
    }
}

extension TargetResult {
    /// The result for the other documents of a plan.
    func answer(of plan: Int) -> CandidateProgress.StageAnswer {
        if outdated.contains(plan) { return .outdated }
        if let failure = failures[plan] { return .impossible(rule: failure.rule, reason: failure.reason) }
        if let due = postponed[plan] { return .waits(until: due) }
        return .done(hasEffect: plansWithWrites.contains(plan))
    }
}

extension RoundContext {
    /// The other documents that rules write, with the rules that led to them.
    func puts(of plans: [StagedPlan]) -> PutBatch {
        let home = gateway.url.keyspace
        let orders = plans.enumerated().flatMap { index, plan in
            let chain = plan.known.chain ?? RuleChain()
            return plan.decision.puts.map { put in
                let rule = rules.set.names[put.rule]
                return PutOrder(plan: index, effect: put, rule: rule, home: home, chain: chain.followed(by: rule))
            }
        }
        return PutBatch(orders)
    }

    /// The changed document that led to other documents.
    func trigger(_ plan: StagedPlan) -> Trigger {
        let candidate = plan.candidate
        let isFromFeed = candidate.acknowledgements.areFromFeed && mode.decidesChanges
        return Trigger(
            id: candidate.id, revision: candidate.content.revision, isDeleted: candidate.content.isDeleted,
            isWritten: plan.decision.isChanged,
            willBeDecidedAgain: isFromFeed
                && candidate.history.outdatedDecisions >= CandidateProgress.maxOutdatedDecisions)
    }

    func log(_ written: [WrittenTarget]) {
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

extension Delivery.Settings {
    /// Reports other documents that were written to the observer.
    func observe(_ written: [WrittenTarget]) {
        guard let observer, !written.isEmpty else { return }
        observer.note(
            .wrote(
                written.suffix(observer.maxReportedWrites).map { other in
                    WrittenDocument(
                        id: other.place.id, keyspace: other.place.keyspace, revision: other.revision,
                        rules: other.rules, isDeletion: other.isDeletion)
                }))
    }
}
