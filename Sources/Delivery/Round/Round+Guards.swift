internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Rules

// Refuses effects of failed decisions, of writes that are always undone, of rule chains that are too long, and of
// documents beyond the limit of changes. A dry run refuses the same effects as a run.
extension Round {
    /// Reads from the state, once per batch, which rules led to the documents whose decisions have effects on other
    /// documents. If any rule writes other documents, also reads this for documents that are only written themselves,
    /// because their new revisions keep the chain.
    mutating func noteChains() async throws {
        let mayPut = context.rules.set.mayPut
        let asked = active.indices.filter { index in
            active[index].plan.map { $0.hasOtherEffects || mayPut && $0.decision.isChanged } ?? false
        }
        guard !asked.isEmpty else { return }
        for (index, chain) in zip(asked, try await context.chains(of: asked.map { active[$0].candidate })) {
            active[index].known.chain = chain
            guard mayPut, !chain.rules.isEmpty else { continue }
            active[index].edit { _, result, _ in result.keptChain = chain }
        }
    }

    /// Notes which decisions must not be carried out.
    mutating func noteRefusals(_ writer: inout WriterContext) async throws {
        for index in active.indices {
            guard let error = active[index].plan?.decision.error else { continue }
            refuse(index, active[index].candidate.deadLetter(rule: error.rule, reason: error.reason))
        }
        let staged = active.compactMap(\.staged)
        var refusals = context.longChains(staged)
        refusals.merge(undoneEffects()) { _, undone in undone }
        guard !refusals.isEmpty else { return }
        // Decisions without writes need no check.
        let places = refusals.keys.sorted()
        let wanted = try await writer.put.wanted(places.map { staged[$0] }, after: writer.previewed)
        for (position, index) in places.enumerated() where active[index].plan?.refusal == nil {
            let decision = staged[index].decision
            if decision.isChanged || !decision.outside.isEmpty || wanted.contains(position)
                || decision.resolution != nil
            {
                refusals[index].map { refuse(index, $0) }
            } else {
                // Only if a related document would change.
                active[index].edit { plan, _, _ in plan.refusalOfRelated = refusals[index]?.reason }
            }
        }
    }

    private mutating func refuse(_ index: Int, _ deadLetter: DeadLetter) {
        active[index].edit { plan, _, _ in plan.refusal = deadLetter }
    }

    /// Decisions whose content has led to a write too many times, because another client always undoes it.
    private func undoneEffects() -> [Int: DeadLetter] {
        guard let limits = context.mode.guards, !InjectedFault.endlessAnswer.isActive else { return [:] }
        let now = Timestamp.secondsNow
        var refusals: [Int: DeadLetter] = [:]
        for (index, progress) in active.enumerated() {
            guard let content = progress.result.fingerprint else { continue }
            let count = progress.known.earlierWrites.count(of: content, in: now - limits.window...now)
            refusals[index] = limits.refusalReason(after: count).map { progress.candidate.deadLetter(reason: $0) }
        }
        return refusals
    }

    /// Dead-letters refused decisions.
    mutating func endRefused() {
        for index in active.indices {
            guard let refusal = active[index].plan?.refusal else { continue }
            follow(active[index].take(.refused(refusal)), of: index)
        }
        removeFinished()
    }

    // MARK: - A limit of changes

    /// If the number of changes is limited, skips the documents beyond the limit. A second attempt at the same document
    /// does not count.
    mutating func limitChanges(_ writer: inout WriterContext) async throws {
        guard context.settings.changeLimit != nil else { return }
        try await endIneffective(&writer)
        func isNew(_ progress: CandidateProgress) -> Bool {
            guard let plan = progress.plan else { return false }
            return !progress.candidate.history.isCounted && plan.isEffective && plan.decision.error == nil
        }
        var left = await context.allowance.take(active.count(where: isNew))
        let isExhausted = await context.allowance.isExhausted
        for index in active.indices {
            if left == 0, isExhausted, !active[index].candidate.history.isCounted {
                follow(active[index].take(.skipped), of: index)
            } else if isNew(active[index]) {
                left -= 1
            }
        }
        removeFinished()
    }

    /// Ends decisions that concern only other documents, if none of these needs a change. They are not counted as
    /// matches.
    private mutating func endIneffective(_ writer: inout WriterContext) async throws {
        let staged = active.compactMap(\.staged)
        let wanted = try await writer.put.wanted(staged, after: writer.previewed)
            .union(try await writer.related.changing(staged))
        let idle = active.indices.filter { index in
            let decision = staged[index].decision
            return !decision.isChanged && !(decision.puts.isEmpty && decision.related.isEmpty)
                && decision.outside.isEmpty && !wanted.contains(index) && decision.error == nil
                && decision.contributions.isEmpty
        }
        await admitSkippedRules(of: idle)
        for index in idle where !active[index].isOver { follow(active[index].endWithoutWrite(), of: index) }
        removeFinished()
    }
}

extension RoundContext {
    /// The rules that led to documents. A retry begins a new chain, and so does a pass over all documents.
    func chains(of candidates: [Candidate]) async throws -> [RuleChain] {
        let recorded = try await state.ledger.causes(
            of: candidates.map { ($0.id, $0.content.revision ?? RevisionID("")) })
        return zip(candidates, recorded).map { candidate, recorded in
            let chain = candidate.content.chain ?? recorded
            let isBegun = candidate.reason.isRetry || !mode.decidesChanges && candidate.acknowledgements.areFromFeed
            return isBegun ? .begun(by: candidate.id, after: chain) : chain
        }
    }

    /// The dead letters of decisions that would make a chain of `put`s or of written answers too long.
    fileprivate func longChains(_ plans: [StagedPlan]) -> [Int: DeadLetter] {
        let names = rules.set.names
        var refusals: [Int: DeadLetter] = [:]
        for (index, plan) in plans.enumerated() {
            let chain = plan.known.chain ?? RuleChain()
            let rules =
                plan.decision.puts.map(\.rule)
                + [plan.decision.outside.first(where: \.changesDocument)?.origin.rule].compactMap(\.self)
            for rule in rules where refusals[index] == nil {
                let next = chain.followed(by: names[rule])
                guard next.isTooLong else { continue }
                refusals[index] = plan.candidate.deadLetter(rule: names[rule], reason: next.reason)
            }
        }
        return refusals
    }
}

/// How many documents a run may still change (`--limit`).
package actor ChangeAllowance {
    private var left: Int?

    /// - Parameter limit: Nil: any number.
    init(limit: Int?) { left = limit }

    /// Never true without a limit.
    package var isExhausted: Bool { left == 0 }

    /// Takes up to `count` of the remaining changes, and returns how many.
    func take(_ count: Int) -> Int {
        guard let available = left else { return count }
        let taken = min(available, count)
        left = available - taken
        return taken
    }
}
