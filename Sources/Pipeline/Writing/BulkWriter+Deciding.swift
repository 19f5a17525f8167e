internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// What happens before a changed document is written: the decision.
extension BulkWriter {
    /// What a decision leads to.
    struct Decided {
        /// The writes of the changed documents themselves; everything that must come before them is done.
        var writes: [Planner.Write] = []
        /// To be settled again: documents to be read again, or in a dry run those that would have been `put`.
        var again: [Candidate] = []
    }

    /// - Parameters:
    ///   - open: Emptied, so that the memory of what was read is free during the requests.
    ///   - undecided: Receives candidates that can't be decided now.
    func decide(
        _ open: inout [Candidate], _ context: inout WriterContext, _ undecided: inout [Candidate]
    ) async throws -> Decided {
        var plans = try await plan(open, context.planner, &undecided)
        open = []
        CrashPoint.decided.pass()
        try await noteChains(&plans)
        if settings.preview != nil || settings.changeLimit != nil {
            // Documents after the last one that may be changed are not processed.
            plans = try await allowed(try await withoutIdle(plans, &context))
        }
        await count(&plans)
        try await noteRefusals(&plans, &context)
        plans = await admitted(plans)
        if let preview = settings.preview {
            return Decided(again: try await show(plans, to: preview, &context))
        }
        plans = try await withoutRefused(plans)
        plans = try await withoutBusy(plans)
        return try await writeOthers(for: plans, &context)
    }

    /// The plans with something to write or to report. All other candidates are settled, except those that can't be
    /// decided now.
    private func plan(
        _ candidates: [Candidate], _ planner: Planner, _ undecided: inout [Candidate]
    ) async throws -> [Planner.Plan] {
        var settled = Settlement()
        var plans: [Planner.Plan] = []
        let undecidedYet = try await withoutOwnRevisions(candidates)
        let beganAt = ContinuousClock.now
        let decided = await planner.plan(undecidedYet, &settled)
        settings.observer?.note(.decided(beganAt.duration(to: .now), jq: planner.decider.jqTime))
        // A program that the shutdown stopped is not an error of the document.
        try Task.checkCancellation()
        var idle: [Planner.Plan] = []
        for plan in decided {
            if plan.decision.error?.isTemporary == true {
                undecided.append(plan.candidate)
            } else if plan.needsAction || settings.changeLimit != nil {
                plans.append(plan)
            } else {
                idle.append(plan)
            }
        }
        await count(&idle)
        for plan in await admitted(idle) { endWithoutWrite(plan, &settled) }
        try await finish(settled)
        return plans
    }

    /// For how many seconds a pass over documents skips revisions that a pass has written: as long as a pass may take,
    /// or the rest of a killed one.
    private static let passSpan = 3600

    /// Leaves out revisions that this rule set wrote after a completed decision, also after a restart.
    private func withoutOwnRevisions(_ candidates: [Candidate]) async throws -> [Candidate] {
        let revisions = candidates.map { (id: $0.id, revision: $0.revision ?? RevisionID("")) }
        // A later pass looks again at what an earlier one wrote: time has passed.
        let since = settings.isPass ? Timestamp.secondsNow - Self.passSpan : nil
        let own = try await ledger.ownRevisions(among: revisions, since: since)
        guard !own.isEmpty else { return candidates }
        var settled = Settlement()
        var rest: [Candidate] = []
        for (index, candidate) in candidates.enumerated() {
            if own.contains(index), !candidate.isRetried {
                settled.passedOver.append(candidate)
            } else {
                rest.append(candidate)
            }
        }
        try await finish(settled)
        return rest
    }

    /// Counts the dead letters of skipped rules. Leaves out plans whose dead letters would exceed the error limit: they
    /// are not settled, and the run ends.
    func admitted(_ plans: [Planner.Plan]) async -> [Planner.Plan] {
        guard plans.contains(where: { !$0.candidate.skippedRules.isEmpty }) else { return plans }
        var admitted: [Planner.Plan] = []
        for var plan in plans {
            // A refused plan has one dead letter, whatever was skipped.
            let deadLetters =
                plan.refusal == nil ? plan.candidate.skippedRules.count - plan.candidate.countedSkips : 0
            if deadLetters > 0 {
                // Either all dead letters of a document are saved, or none.
                guard await progress.admit(1, settings.errorLimit) == 1 else { continue }
                await progress.count { $0.deadLetters += deadLetters - 1 }
                plan.candidate.countedSkips += deadLetters
            }
            admitted.append(plan)
        }
        return admitted
    }

    /// Settles a plan that needs no write.
    func endWithoutWrite(_ plan: Planner.Plan, _ settled: inout Settlement) {
        settled.end(plan.candidate, isWrite: false)
        if !plan.decision.fired.isEmpty { settled.unchanged += 1 }
    }

    /// Counts matches and fired rules, each candidate once.
    func count(_ plans: inout [Planner.Plan]) async {
        var fired: [[Int]] = []
        for index in plans.indices where !plans[index].candidate.isCounted {
            let decision = plans[index].decision
            guard !decision.fired.isEmpty || decision.error != nil || !decision.skipped.isEmpty else { continue }
            plans[index].candidate.isCounted = true
            fired.append(decision.fired)
        }
        guard !fired.isEmpty else { return }
        let names = shared.ruleSet.names
        await progress.count { [fired] counters in
            counters.matched += fired.count
            for rule in fired.joined() { counters.rules[names[rule], default: 0] += 1 }
        }
    }
}
