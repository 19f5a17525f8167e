internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Finds the documents that rules' selectors match, and writes those that need a change.
struct RelatedStage: EffectStage {
    let context: RoundContext
    /// Writes the related documents, and documents that actions on related documents `put`.
    var put: PutStage
    var search: RelatedSearch

    func applies(to plan: Plan) -> Bool { !plan.decision.related.isEmpty }

    mutating func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer] {
        if InjectedFault.skippedRelated.isActive { return plans.map { _ in .done(hasEffect: true) } }
        var result = TargetResult()
        var waiting = orders(of: plans)
        let triggers = plans.map(context.trigger)
        while true {
            waiting.removeAll { result.ended.contains($0.plan) }
            guard let (batch, found) = try await find(&waiting, &result) else { break }
            var pages = RelatedPages(found, size: context.limits.documents)
            while var targets = pages.next() {
                while !targets.isEmpty { targets = try await write(targets, batch, triggers, &result) }
            }
        }
        try context.rules.stored.check()
        try await put.targets.noteOutdatedUnwritten(triggers, &result)
        return plans.indices.map(result.answer)
    }

    /// The orders of the decisions for related documents.
    private func orders(of plans: [StagedPlan]) -> [RelatedOrder] {
        let names = context.rules.set.names
        return plans.enumerated().flatMap { index, staged -> [RelatedOrder] in
            guard !staged.decision.related.isEmpty, staged.plan.refusal == nil else { return [] }
            let candidate = staged.candidate
            let input = DecisionInput(
                staged.plan.report.document, isDeleted: candidate.content.isDeleted,
                sequence: candidate.reason.sequence?.json)
            return staged.decision.related.map { effect in
                let rule = names[effect.origin.rule]
                let chain = (staged.known.chain ?? RuleChain()).followed(by: rule)
                return RelatedOrder(
                    plan: index, effect: effect, rule: rule, input: input, chain: chain,
                    refusal: chain.isTooLong ? chain.reason : staged.plan.refusalOfRelated)
            }
        }
    }

    /// Searches for the documents of the first orders, as many as the memory allows. Removes these orders from
    /// `orders`.
    ///
    /// - Returns: The orders whose documents may be changed, and these documents; nil if no order was left.
    private mutating func find(
        _ orders: inout [RelatedOrder], _ result: inout TargetResult
    ) async throws -> (RelatedBatch, [[DocumentID]])? {
        guard !orders.isEmpty else { return nil }
        let answers = try await search.find(orders.map(\.query))
        var batch: [RelatedOrder] = []
        var found: [[DocumentID]] = []
        for (order, documents) in zip(orders, answers) {
            switch documents {
            case .found(let ids):
                batch.append(order)
                found.append(ids)
            case .tooMany:
                result.fail(order.plan, PlanFailure(rule: order.rule, reason: order.tooManyMessage))
            }
        }
        orders.removeFirst(answers.count)
        let rules = context.rules
        let related = RelatedBatch(
            batch, rules.set, now: context.settings.now(), stored: rules.stored.reader,
            effectLimit: context.flow.budget.portionLimit)
        return (related, found)
    }

    /// Writes a page. Its documents are not decided until the state has their rule chains.
    ///
    /// - Returns: What must be read again.
    private mutating func write(
        _ page: [Target], _ batch: RelatedBatch, _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws -> [Target] {
        let ended = result.ended
        var targets = page.filter { !$0.orders.allSatisfy { ended.contains(batch.orders[$0].plan) } }
        guard !targets.isEmpty else { return [] }
        guard batch.orders.contains(where: \.effect.mayPut) else {
            return try await writeDecided(targets, batch, triggers, &result)
        }
        let (later, large) = try await Self.separateLarge(&targets, context.flow.budget)
        defer { withExtendedLifetime(large) {} }
        let (puts, deferred) = try await puts(of: &targets, batch, &result)
        let held = await context.flow.budget.hold(bytes: puts.byteCount)
        result.merge(try await put.write(puts, triggers))
        withExtendedLifetime(held) {}
        return try await writeDecided(targets, batch, triggers, &result) + deferred + later
    }

    /// Leaves only the first target if what its actions `put` takes much memory, otherwise only targets for which that
    /// is not so. Waits until no other task has such a target.
    ///
    /// - Returns: The other targets, and what keeps other tasks waiting.
    private static func separateLarge(
        _ targets: inout [Target], _ budget: MemoryBudget
    ) async throws -> (later: [Target], MemoryBudget.Reading?) {
        guard targets.first?.isLarge == true else {
            let later = targets.filter(\.isLarge)
            targets.removeAll(where: \.isLarge)
            return (later, nil)
        }
        let later = Array(targets.dropFirst())
        targets = Array(targets.prefix(1))
        return (later, try await budget.beginRelatedResults())
    }

    /// Writes targets whose `put`s are written.
    ///
    /// - Returns: What must be read again.
    private mutating func writeDecided(
        _ targets: [Target], _ batch: RelatedBatch, _ triggers: [Trigger], _ result: inout TargetResult
    ) async throws -> [Target] {
        guard !targets.isEmpty else { return [] }
        // The feed may return these documents before the state has their rule chains on disk.
        let held = targets.map(\.place.id)
        let queue = context.flow.queue
        await queue.hold(held)
        do {
            let again = try await put.targets.write(targets, in: nil, batch, triggers, &result)
            context.settings.observe(result.documents)
            context.log(result.documents)
            await put.decideWrittenTargets(result.documents)
            // There may be very many documents.
            result.documents = []
            await queue.release(held)
            return again
        } catch {
            await queue.release(held)
            throw error
        }
    }

    /// The documents that actions on a page of related documents `put`. Notes in each target the revision that led to
    /// them.
    ///
    /// - Returns: Also the targets that must be decided later, which are removed from `targets`.
    private mutating func puts(
        of targets: inout [Target], _ batch: RelatedBatch, _ result: inout TargetResult
    ) async throws -> (PutBatch, deferred: [Target]) {
        let (needs, read) = try await needs(targets, batch, ended: result.ended)
        defer { withExtendedLifetime(read) {} }
        result.note(needs)
        for (index, lookup) in read.lookups.enumerated() { targets[index].revisionWithPuts = lookup.revision }
        let unread = targets.dropFirst(read.lookups.count)
        targets = zip(targets, needs.needs).filter { !$1.isDeferred }.map(\.0) + unread
        let home = context.gateway.url.keyspace
        let puts = PutBatch(
            needs.needs.flatMap { need in
                need.puts.map { order, effect in
                    let order = batch.orders[order]
                    return PutOrder(plan: order.plan, effect: effect, rule: order.rule, home: home, chain: order.chain)
                }
            })
        return (puts, needs.needs.filter(\.isDeferred).map(\.target))
    }

    /// Reads the first documents of a page and decides them.
    private mutating func needs(
        _ targets: [Target], _ batch: RelatedBatch, ended: Set<Int>
    ) async throws -> (TargetNeeds, CurrentTargets) {
        let read = try await put.targets.read(targets.map(\.place.id), in: nil)
        let needs = await batch.needs(Array(targets.prefix(read.lookups.count)), read.lookups, ended: ended)
        try Task.checkCancellation()
        return (needs, read)
    }

    // MARK: - Without writing

    /// The plans that would change related documents, given their current content. Writes nothing.
    mutating func changing(_ plans: [StagedPlan]) async throws -> Set<Int> {
        var wanted: Set<Int> = []
        let result = try await survey(orders(of: plans)) { batch, needs in
            // One document is enough.
            wanted.formUnion(needs.plans(batch.orders))
            return wanted
        }
        // Impossible orders must be reported.
        return wanted.union(result.failures.keys)
    }

    /// What would happen to the documents related to one changed document.
    ///
    /// - Returns: The findings for each effect of the decision; and why the change would become a dead letter, nil if
    ///   it would not.
    mutating func findings(
        _ plan: StagedPlan
    ) async throws -> (findings: [RelatedSearchResult], failure: PlanFailure?) {
        let orders = orders(of: [plan])
        var findings = orders.map { _ in RelatedSearchResult() }
        let names = context.rules.set.names
        let result = try await survey(orders) { batch, needs in
            for need in needs.needs where !need.isDeferred {
                for order in need.target.orders {
                    let origin = batch.orders[order].effect.origin
                    guard let place = orders.firstIndex(where: { $0.effect.origin == origin }) else { continue }
                    findings[place].noteFound(1)
                    guard need.isWrite, need.orders.last == order, let before = need.before,
                        case .decision(let decision)? = need.content
                    else { continue }
                    findings[place].noteChange(DecisionReport(before, decision, names: names))
                }
            }
            return []
        }
        return (findings, result.failures[0])
    }

    /// Finds, reads and decides related documents, page by page.
    ///
    /// - Parameter take: Returns the plans that need no further documents.
    private mutating func survey(
        _ orders: [RelatedOrder], _ take: (RelatedBatch, TargetNeeds) -> Set<Int>
    ) async throws -> TargetResult {
        var result = TargetResult()
        var waiting = orders
        var ended: Set<Int> = []
        while let (batch, found) = try await find(&waiting, &result) {
            var pages = RelatedPages(found, size: context.limits.documents)
            while var targets = pages.next() {
                targets.removeAll { $0.orders.allSatisfy { ended.contains(batch.orders[$0].plan) } }
                while !targets.isEmpty {
                    let (later, large) = try await Self.separateLarge(&targets, context.flow.budget)
                    defer { withExtendedLifetime(large) {} }
                    let (needs, read) = try await needs(targets, batch, ended: ended)
                    defer { withExtendedLifetime(read) {} }
                    targets.removeFirst(read.lookups.count)
                    targets += needs.needs.filter(\.isDeferred).map(\.target) + later
                    result.note(needs)
                    ended.formUnion(result.failures.keys)
                    ended.formUnion(take(batch, needs))
                }
            }
            ended.formUnion(result.failures.keys)
            waiting.removeAll { ended.contains($0.plan) }
        }
        return result
    }
}
