internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
package import Rules

/// Receives the effects that a run would have.
package struct Preview: Sendable {
    /// Called for each document that would change or whose rules fail, one at a time and in order.
    let show: @Sendable (DecisionReport) async throws -> Void

    /// - Parameter show: Called for each document that would change or whose rules fail, one at a time and in order. An
    ///   error that it throws ends the run.
    package init(show: @escaping @Sendable (DecisionReport) async throws -> Void) { self.show = show }
}

// A dry run decides everything and writes nothing.
extension Round {
    /// Shows the effects in the order of the candidates, and ends the candidates. Documents that would have been `put`,
    /// and on which rules may fire, are decided in the next round.
    mutating func show(to preview: Preview, _ writer: inout WriterContext) async throws {
        let staged = active.compactMap(\.staged)
        let puts = context.puts(of: staged)
        var targets = PreviewedTargets(puts.orders, plans: staged.count)
        /// A batch writes each document at most once.
        var places: Set<DocumentAddress> = []
        for index in active.indices {
            let wanted = puts.orders.filter { $0.plan == index }
            try await targets.advance(to: index, &writer.put.targets)
            let lookups = targets.lookups
            guard let finding = try await survey(staged[index], index, wanted, lookups, preview, &writer) else {
                continue
            }
            try await release(finding.puts, lookups, &writer)
            if staged[index].decision.isChanged, context.rules.set.mayPut {
                writer.previewed.note(DocumentAddress(keyspace: nil, id: staged[index].candidate.id), finding.document)
            }
            try await preview.show(staged[index].plan.report.with(finding.related))
            outcomes.shown += finding.puts.count { places.insert($0.order.place).inserted } + finding.writes
            outcomes.previewedDeletions += finding.deletions
            follow(active[index].endShown(), of: index)
        }
        removeFinished()
        try await record()
    }

    /// Makes documents that would be `put` visible to later decisions, and decides them next with their new content.
    private mutating func release(
        _ puts: [PreviewedPuts.Put], _ lookups: [DocumentAddress: DocumentLookup], _ writer: inout WriterContext
    ) async throws {
        writer.previewed.note(puts)
        for put in puts where put.order.place.keyspace == nil {
            let place = put.order.place
            var earlier = writer.previewed.chains[place]
            if earlier == nil, let revision = lookups[place]?.revision {
                earlier = try await context.state.ledger.causes(of: [(place.id, revision)]).first
            }
            writer.previewed.chains[place] = put.order.chain.written(over: earlier)
        }
        guard context.mode.endsOnceSettled else { return }
        for put in puts where put.order.place.keyspace == nil {
            guard writer.planner.decider.mayFire(on: put.document.root, isDeleted: false) else { continue }
            var candidate = Candidate(put.order.place.id, Content(nil, put.document.bytes))
            candidate.content.chain = writer.previewed.chains[put.order.place] ?? put.order.chain
            await context.flow.budget.take(bytes: candidate.content.cost, documents: 1)
            decideNext(candidate)
            writer.previewed.release(candidate.id)
        }
    }

    /// The effects that a decision would have.
    private struct Finding {
        /// The document after the rules.
        let document: JSONText
        let puts: [PreviewedPuts.Put]
        let related: [RelatedSearchResult]
        /// How many documents it would write, besides ``puts``.
        let writes: Int
        let deletions: Int

        init(_ decision: Decision, _ puts: [PreviewedPuts.Put], _ related: [RelatedSearchResult]) {
            document = decision.document
            self.puts = puts
            self.related = related
            let isWritten = decision.isChanged || decision.resolution != nil
            writes = related.reduce(0) { $0 + $1.changed } + (isWritten ? 1 : 0)
            deletions = related.reduce(0) { $0 + $1.deletions } + (decision.isDeletion ? 1 : 0)
        }
    }

    /// - Returns: Nil if there is nothing to show: then the candidate is over.
    private mutating func survey(
        _ staged: StagedPlan, _ index: Int, _ orders: [PutOrder], _ lookups: [DocumentAddress: DocumentLookup],
        _ preview: Preview, _ writer: inout WriterContext
    ) async throws -> Finding? {
        let decision = staged.decision
        if writer.previewed.released.contains(staged.candidate.id), staged.candidate.content.chain == nil,
            staged.plan.needsAction || !decision.contributions.isEmpty
        {
            // Already decided with its content after the `put`.
            follow(active[index].take(.skipped), of: index)
            return nil
        }
        if let refusal = staged.plan.refusal {
            follow(active[index].take(.refused(refusal)), of: index)
            // Otherwise the report would not say why nothing is done.
            if decision.error != nil { try await preview.show(staged.plan.report) }
            return nil
        }
        let puts: [PreviewedPuts.Put]
        var failure: PlanFailure?
        do throws(PlanFailure) { puts = try writer.previewed.puts(for: orders, lookups) } catch {
            (puts, failure) = ([], error)
        }
        var related: [RelatedSearchResult] = []
        if failure == nil { (related, failure) = try await writer.related.findings(staged) }
        if let failure {
            follow(active[index].take(.impossible(rule: failure.rule, reason: failure.reason), now: .now), of: index)
            return nil
        }
        let finding = Finding(decision, puts, related)
        guard
            finding.writes > 0 || !finding.puts.isEmpty || !decision.outside.isEmpty
                || !decision.contributions.isEmpty
        else {
            follow(active[index].endWithoutWrite(), of: index)
            return nil
        }
        return finding
    }
}
