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
        let asked = courses.indices.filter { index in
            courses[index].plan.map { $0.reachesFurther || mayPut && $0.decision.isChanged } ?? false
        }
        guard !asked.isEmpty else { return }
        for (index, chain) in zip(asked, try await context.chains(of: asked.map { courses[$0].candidate })) {
            courses[index].known.chain = chain
            guard mayPut, !chain.rules.isEmpty else { continue }
            courses[index].edit { _, result, _ in result.keptChain = chain }
        }
    }

    /// Notes which decisions must not be carried out.
    mutating func noteRefusals(_ writer: inout WriterContext) async throws {
        for index in courses.indices {
            guard let error = courses[index].plan?.decision.error else { continue }
            refuse(index, courses[index].candidate.deadLetter(rule: error.rule, reason: error.reason))
        }
        let staged = courses.compactMap(\.staged)
        var refusals = context.longChains(staged)
        refusals.merge(undoneEffects()) { _, undone in undone }
        guard !refusals.isEmpty else { return }
        // Decisions without writes need no check.
        let places = refusals.keys.sorted()
        let wanted = try await writer.put.wanted(places.map { staged[$0] }, after: writer.previewed)
        for (position, index) in places.enumerated() where courses[index].plan?.refusal == nil {
            let decision = staged[index].decision
            if decision.isChanged || !decision.outside.isEmpty || wanted.contains(position)
                || decision.resolution != nil
            {
                refusals[index].map { refuse(index, $0) }
            } else {
                // Only if a related document would change.
                courses[index].edit { plan, _, _ in plan.refusalOfRelated = refusals[index]?.reason }
            }
        }
    }

    private mutating func refuse(_ index: Int, _ deadLetter: DeadLetter) {
        courses[index].edit { plan, _, _ in plan.refusal = deadLetter }
    }

    /// Decisions whose content has led to a write too many times, because another client always undoes it.
    private func undoneEffects() -> [Int: DeadLetter] {
        guard let limits = context.mode.guards else { return [:] }
        let now = Timestamp.secondsNow
        var refusals: [Int: DeadLetter] = [:]
        for (index, course) in courses.enumerated() {
            guard let content = course.result.fingerprint else { continue }
            let count = course.known.earlierWrites.count(of: content, in: now - limits.window...now)
            refusals[index] = limits.refusalReason(after: count).map { course.candidate.deadLetter(reason: $0) }
        }
        return refusals
    }

    /// Dead-letters refused decisions.
    mutating func endRefused() {
        for index in courses.indices {
            guard let refusal = courses[index].plan?.refusal else { continue }
            follow(courses[index].take(.refused(refusal)), of: index)
        }
        dropOver()
    }

    // MARK: - A limit of changes

    /// If the number of changes is limited, skips the documents beyond the limit. A second attempt at the same document
    /// does not count.
    mutating func limitChanges(_ writer: inout WriterContext) async throws {
        guard context.settings.changeLimit != nil else { return }
        try await endIdle(&writer)
        func isNew(_ course: Course) -> Bool {
            guard let plan = course.plan else { return false }
            return !course.candidate.history.isCounted && plan.isEffective && plan.decision.error == nil
        }
        var left = await context.allowance.take(courses.count(where: isNew))
        let isExhausted = await context.allowance.isExhausted
        for index in courses.indices {
            if left == 0, isExhausted, !courses[index].candidate.history.isCounted {
                follow(courses[index].take(.passedOver), of: index)
            } else if isNew(courses[index]) {
                left -= 1
            }
        }
        dropOver()
    }

    /// Ends decisions that concern only other documents, if none of these needs a change. They are not counted as
    /// matches.
    private mutating func endIdle(_ writer: inout WriterContext) async throws {
        let staged = courses.compactMap(\.staged)
        let wanted = try await writer.put.wanted(staged, after: writer.previewed)
            .union(try await writer.related.changing(staged))
        let idle = courses.indices.filter { index in
            let decision = staged[index].decision
            return !decision.isChanged && !(decision.puts.isEmpty && decision.related.isEmpty)
                && decision.outside.isEmpty && !wanted.contains(index) && decision.error == nil
                && decision.contributions.isEmpty
        }
        await admitSkippedRules(of: idle)
        for index in idle where !courses[index].isOver { follow(courses[index].endWithoutWrite(), of: index) }
        dropOver()
    }
}

extension RoundContext {
    /// The rules that led to documents. A retry begins a new chain, and so does a pass over all documents.
    func chains(of candidates: [Candidate]) async throws -> [RuleChain] {
        let recorded = try await state.ledger.causes(
            of: candidates.map { ($0.id, $0.content.revision ?? RevisionID("")) })
        return zip(candidates, recorded).map { candidate, recorded in
            let chain = candidate.content.chain ?? recorded
            let isBegun = candidate.reason.isRetry || !mode.decidesChanges && candidate.receipts.areOfFeed
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
