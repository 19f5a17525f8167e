internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// From a candidate to its write: the decision, and the guards that end loops and slow down repeated writes.
extension BulkWriter {
    /// Decides a batch of candidates, and does everything that must come before their writes.
    ///
    /// - Parameters:
    ///   - open: Emptied, so that the memory of what was read is free during the requests.
    ///   - undecided: Receives candidates that can't be decided now.
    func decide(
        _ open: inout [Candidate], _ context: inout WriterContext, _ undecided: inout [Candidate]
    ) async throws -> Decided {
        var plans = try await plan(open, &context, &undecided)
        open = []
        CrashPoint.decided.pass()
        try await noteChains(&plans, mayPut: context.mayPut)
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
        var again: [Candidate] = []
        plans = try await resolveConflicts(plans, &again)
        plans = try await withoutBusy(plans)
        // If another document can't be written, the change is not written either.
        let others = try await writeOthers(for: plans, &context)
        let all = try await writeRelated(for: plans, after: others, &context)
        let prepared = plans.indices.map { PreparedPlan(plans[$0], all.standing(of: $0)) }
        var decided = try await carryOut(prepared.filter { !$0.waitsForReceivers })
        decided.webhooks = prepared.filter(\.waitsForReceivers)
        decided.again += again
        return decided
    }

    /// What a decision leads to.
    struct Decided {
        /// The writes of the changed documents themselves; everything that must come before them is done.
        var writes: [Planner.Write] = []
        /// To be carried out once their receivers have accepted them.
        var webhooks: [PreparedPlan] = []
        /// To be settled again: documents to be read again, or in a dry run those that would have been `put`.
        var again: [Candidate] = []
    }

    /// The plans with something to write or to report. All other candidates are settled, except those that can't be
    /// decided now.
    private func plan(
        _ candidates: [Candidate], _ context: inout WriterContext, _ undecided: inout [Candidate]
    ) async throws -> [Planner.Plan] {
        var settled = Settlement()
        var plans: [Planner.Plan] = []
        var undecidedYet = try await withoutOwnRevisions(candidates)
        if let timers = shared.timers, !settings.isPass { undecidedYet = try await timers.withTimes(undecidedYet) }
        let beganAt = ContinuousClock.now
        var decided = await context.planner.plan(undecidedYet, &settled)
        settings.observer?.note(.decided(beganAt.duration(to: .now), jq: context.planner.decider.jqTime))
        // A program that the shutdown stopped is not an error of the document.
        try Task.checkCancellation()
        context.putOff += decided.filter(\.decision.isPutOff).map(\.candidate)
        decided.removeAll(where: \.decision.isPutOff)
        try await noteContributions(&decided)
        var idle: [Planner.Plan] = []
        var waiting: [(due: ContinuousClock.Instant, candidate: Candidate)] = []
        for plan in decided {
            if plan.decision.error?.isTemporary == true {
                undecided.append(plan.candidate)
            } else if let wait = plan.decision.error?.wait {
                // What it adds is not known.
                var candidate = plan.candidate
                candidate.contributed = nil
                waiting.append((.now + wait, candidate))
            } else if plan.candidate.countsOnly {
                end(countsOnly: plan, &settled)
            } else if plan.needsAction || settings.changeLimit != nil || plan.refusal != nil
                || settings.preview != nil && !plan.decision.contributions.isEmpty
            {
                plans.append(plan)
            } else {
                idle.append(plan)
            }
        }
        await endIdle(idle, &settled)
        try await finish(settled)
        try await shared.downloads?.check()
        try shared.comparison.check()
        try await postpone(waiting)
        return plans
    }

    /// For how many seconds a pass over documents skips revisions that a pass has written: as long as a pass may take,
    /// or the rest of a killed one.
    private static let passSpan = 3600

    /// Leaves out revisions that this rule set wrote after a completed decision, also after a restart. The others get
    /// what is known of earlier writes.
    private func withoutOwnRevisions(_ candidates: [Candidate]) async throws -> [Candidate] {
        let now = Timestamp.secondsNow
        let earlier = try await ledger.earlierWrites(
            of: candidates.map { ($0.id, $0.revision ?? RevisionID("")) },
            since: settings.effectLimits.map { now - $0.window } ?? .max)
        guard earlier.contains(where: { !$0.writes.isEmpty }) else { return candidates }
        // A later pass looks again at what an earlier one wrote: time has passed.
        let passBeganAt = max(settings.passBeganAt ?? 0, now - Self.passSpan)
        let times = settings.isPass ? min(passBeganAt, now)...now : 0...Int.max
        var settled = Settlement()
        var rest: [Candidate] = []
        for (var candidate, earlierWrites) in zip(candidates, earlier) {
            // Another leaf may have come beside it.
            if !candidate.isRetried, !candidate.isOfTimer, candidate.conflict == nil,
                earlierWrites.include(candidate.revision ?? RevisionID(""), in: times)
            {
                if candidate.passCandidates > 0 || candidate.recount != nil {
                    candidate.countsOnly = true
                    rest.append(candidate)
                } else {
                    settled.passedOver.append(candidate)
                }
            } else {
                candidate.earlierWrites = earlierWrites
                rest.append(candidate)
            }
        }
        try await finish(settled)
        return rest
    }
}

/// Applies the rules to candidates. Without I/O, but for what the rules ask of jq and download.
struct Planner {
    let ruleSet: RuleSet
    let decider: Decider
    var downloads: Downloads?
    /// Nil: attachments whose digests can't tell are taken for different ones.
    var stored: StoredAttachmentReader?
    let interruptions: InterruptedDecisions
    /// Records which document is being decided, in case the process dies over it.
    let note: DecisionNote
    /// Whether to count how often a content leads to a write.
    let countsEffects: Bool
    /// Seconds since 1970.
    let now: @Sendable () -> Int

    /// One plan for each candidate that can be decided; the others are dead-lettered in `settled`.
    func plan(_ candidates: [Candidate], _ settled: inout Settlement) async -> [Plan] {
        var decidable: [Candidate] = []
        var inputs: [DecisionInput] = []
        for candidate in candidates {
            do throws(Undecidable) {
                inputs.append(try input(candidate))
                decidable.append(candidate)
            } catch {
                settled.deadLetter(candidate, candidate.deadLetter(reason: error.reason))
            }
        }
        note.end()
        let decisions = await decider.decide(
            on: inputs, now: now(), downloader: downloads?.downloader, stored: stored,
            mayPutOff: { !decidable[$0].isSlow },
            willDecide: { index in
                guard let index else { return note.end() }
                note.begin(decidable[index].id, decidable[index].revision)
            })
        note.end()
        return decidable.indices.map { plan(decidable[$0], inputs[$0], decisions[$0]) }
    }

    private func input(_ candidate: Candidate) throws(Undecidable) -> DecisionInput {
        guard !interruptions.isExcluded(candidate.id, candidate.revision) || candidate.isRetried else {
            throw Undecidable(reason: InterruptedDecisions.reason)
        }
        note.begin(candidate.id, candidate.revision)
        let text: JSONText
        do { text = try JSONText(candidate.document).withoutVersion() } catch { throw Undecidable(reason: "\(error)") }
        // The write goes to the document's `_id`: a different one, or none, would create a document that nobody asked
        // for.
        guard text.root["_id"]?.isString(candidate.id.text) == true else {
            throw Undecidable(reason: "the gateway returned a document whose _id is not the id of the change")
        }
        let fired = (candidate.earlierTimes ?? []).filter(\.hasFired).map { ($0.rule, $0.due) }
        return DecisionInput(
            text, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json,
            firedTimes: Dictionary(fired) { first, _ in first }, countsOnly: candidate.countsOnly,
            isInConflict: candidate.conflict != nil)
    }

    private struct Undecidable: Error {
        let reason: String
    }

    private func plan(_ candidate: Candidate, _ input: DecisionInput, _ decision: Decision) -> Plan {
        var plan = Plan(
            candidate: candidate,
            report: DecisionReport(
                input.document, decision, names: ruleSet.names, aggregates: ruleSet.aggregates))
        if decision.isPutOff { plan.candidate.isSlow = true }
        if decision.error == nil, !decision.isPutOff, !candidate.countsOnly, decision.resolution == nil {
            plan.candidate.times = decision.times
        }
        plan.candidate.rules = decision.fired.map { ruleSet.names[$0] }
        plan.candidate.skippedRules = decision.skipped.map {
            Candidate.SkippedRule(rule: $0.rule, reason: $0.reason)
        }
        if let unresolved = candidate.unresolved { plan.candidate.skippedRules.append(unresolved) }
        if countsEffects, plan.isEffective { plan.candidate.content = ContentFingerprint(input.document.root) }
        return plan
    }

    /// A candidate and the decision about it.
    struct Plan {
        var candidate: Candidate
        var report: DecisionReport
        /// The rules that led to the document; nil if they make no difference.
        var chain: RuleChain?
        /// Why it must not be carried out.
        var refusal: DeadLetter?
        /// Why no related document may be changed; nil if they may.
        var refusalOfRelated: String?

        var decision: Decision { report.decision }

        /// Whether there is anything to write or to report.
        var needsAction: Bool { isEffective || decision.error != nil }

        /// Whether there may be anything to write.
        var isEffective: Bool { decision.isChanged || reachesFurther }

        /// Whether there may be anything to do beside the write of the changed document.
        var reachesFurther: Bool {
            !decision.puts.isEmpty || !decision.related.isEmpty || !decision.outside.isEmpty
                || decision.resolution != nil
        }

        /// The write of the changed document itself.
        ///
        /// - Parameter keepsContent: Whether ``Write/before`` is wanted.
        func write(keepsContent: Bool) -> Write {
            let before = keepsContent ? try? JSONText(candidate.document).withoutVersion() : nil
            var planned = candidate
            planned.isDeletion = decision.isDeletion
            // The content is not needed any more: after a refusal the document is read again.
            if !candidate.isDeleted { planned.document = [] }
            return Write(
                candidate: planned, document: BulkDocument(id: candidate.id, segments: decision.bodySegments()),
                before: before)
        }
    }

    /// What goes to the gateway.
    struct Write {
        /// The candidate that this write settles.
        let candidate: Candidate
        let document: BulkDocument
        /// The document as the rules found it; nil unless it is wanted for those who watch the run.
        let before: JSONText?
    }
}

// MARK: - Guards against loops and repeated writes

extension BulkWriter {
    /// Notes which plans must not be carried out: those whose rules failed, those that somebody undoes each time, and
    /// those that would continue too long a chain of `put`s. A dry run and a run refuse the same.
    private func noteRefusals(_ plans: inout [Planner.Plan], _ context: inout WriterContext) async throws {
        for index in plans.indices {
            guard let error = plans[index].decision.error else { continue }
            plans[index].refusal = plans[index].candidate.deadLetter(rule: error.rule, reason: error.reason)
        }
        let orders = orders(of: plans)
        var refusals = longChains(plans, orders)
        refusals.merge(undoneEffects(plans)) { _, undone in undone }
        guard !refusals.isEmpty else { return }
        // Those that would write nothing have nothing to do anyway.
        let wanted = try await context.others.wanted(
            orders.filter { refusals[$0.plan] != nil }, after: context.previewed)
        for (index, refusal) in refusals where plans[index].refusal == nil {
            if plans[index].decision.isChanged || !plans[index].decision.outside.isEmpty || wanted.contains(index)
                || plans[index].decision.resolution != nil
            {
                plans[index].refusal = refusal
            } else {
                // Only if one of them would change.
                plans[index].refusalOfRelated = refusal.reason
            }
        }
    }

    /// Plans whose content has led to a write too often: somebody undoes it each time.
    private func undoneEffects(_ plans: [Planner.Plan]) -> [Int: DeadLetter] {
        guard let limits = settings.effectLimits else { return [:] }
        let now = Timestamp.secondsNow
        var refusals: [Int: DeadLetter] = [:]
        for (index, candidate) in plans.lazy.map(\.candidate).enumerated() {
            guard let content = candidate.content else { continue }
            let count = candidate.earlierWrites.count(of: content, in: now - limits.window...now)
            refusals[index] = limits.refusalReason(after: count).map { candidate.deadLetter(reason: $0) }
        }
        return refusals
    }

    /// Dead-letters the plans that must not be carried out.
    private func withoutRefused(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        guard plans.contains(where: { $0.refusal != nil }) else { return plans }
        var settled = Settlement()
        for plan in plans {
            if let refusal = plan.refusal { settled.deadLetter(plan.candidate, refusal) }
        }
        try await finish(settled)
        return plans.filter { $0.refusal == nil }
    }

    /// Postpones documents that are written too often. Their latest content is decided later.
    private func withoutBusy(_ plans: [Planner.Plan]) async throws -> [Planner.Plan] {
        func place(_ plan: Planner.Plan) -> DocumentPlace { DocumentPlace(keyspace: nil, id: plan.candidate.id) }
        let due = await shared.busy.due(plans.compactMap { $0.decision.isChanged ? place($0) : nil })
        guard !due.isEmpty else { return plans }
        let waiting = plans.filter { due[place($0)] != nil && $0.decision.isChanged }
        try await postpone(waiting.compactMap { plan in due[place(plan)].map { ($0, plan.candidate) } })
        await shared.busy.log(waiting.map(place), to: logger)
        return plans.filter { due[place($0)] == nil || !$0.decision.isChanged }
    }

    // MARK: - Counting, and candidates that need no write

    /// Counts matches and fired rules, each candidate once.
    func count(_ plans: inout [Planner.Plan]) async {
        var fired: [[Int]] = []
        var matched = 0
        for index in plans.indices where !plans[index].candidate.isCounted {
            let decision = plans[index].decision
            guard !decision.fired.isEmpty || decision.error != nil || !decision.skipped.isEmpty else { continue }
            if !plans[index].candidate.isMatched { matched += 1 }
            plans[index].candidate.isCounted = true
            plans[index].candidate.isMatched = true
            fired.append(decision.fired)
        }
        guard !fired.isEmpty else { return }
        let names = shared.ruleSet.names
        await progress.count { [fired, matched] counters in
            counters.matched += matched
            for rule in fired.joined() { counters.rules[names[rule], default: 0] += 1 }
        }
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

    /// Settles plans with nothing to write or to report.
    func endIdle(_ plans: [Planner.Plan], counts: Bool = true, _ settled: inout Settlement) async {
        var plans = plans
        if counts { await count(&plans) }
        for plan in await admitted(plans) { endWithoutWrite(plan, &settled) }
    }

    /// Settles a plan that needs no write.
    func endWithoutWrite(_ plan: Planner.Plan, _ settled: inout Settlement) {
        settled.end(plan.candidate, isWrite: false)
        if !plan.decision.fired.isEmpty { settled.unchanged += 1 }
    }
}
