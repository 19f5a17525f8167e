internal import DocumentFlow
internal import Rules

/// A plan, and what became of everything that comes before the write of its changed document.
struct PreparedPlan: Sendable {
    enum Standing: Sendable {
        /// All of it is done. `hasEffect`: whether there was anything to do.
        case ready(hasEffect: Bool)
        /// A document that it depends on has changed: it is decided again.
        case outdated
        /// It is impossible: the change becomes a dead letter. `rule`: the one that wants it; nil: the last one that fired.
        case failed(rule: String?, reason: String)
        /// The change is decided again then.
        case postponed(until: ContinuousClock.Instant)
    }

    var plan: Planner.Plan
    var standing: Standing

    init(_ plan: Planner.Plan, _ standing: Standing) {
        self.plan = plan
        self.standing = standing
    }

    var isReady: Bool { if case .ready = standing { true } else { false } }

    /// Whether receivers must be told before anything else is done.
    var waitsForReceivers: Bool { isReady && plan.decision.outside.contains { $0.webhook != nil } }
}

extension OtherDocuments.Result {
    /// What became of the other documents that a plan wants.
    func standing(of plan: Int) -> PreparedPlan.Standing {
        if outdated.contains(plan) { return .outdated }
        if let failure = failures[plan] { return .failed(rule: failure.rule, reason: failure.reason) }
        if let due = postponed[plan] { return .postponed(until: due) }
        return .ready(hasEffect: plansWithWrites.contains(plan))
    }
}

extension BulkWriter {
    /// The writes of prepared plans: emits the lines of those that are ready, and settles or postpones what needs no write.
    func carryOut(_ plans: [PreparedPlan]) async throws -> Decided {
        var decided = Decided()
        var settled = Settlement()
        var postponed: [(due: ContinuousClock.Instant, candidate: Candidate)] = []
        for prepared in try await emittingLines(plans) {
            let plan = prepared.plan
            switch prepared.standing {
            case .outdated:
                var candidate = plan.candidate
                candidate.dropContent()
                candidate.outdatedDecisions += 1
                if candidate.outdatedDecisions.isMultiple(of: Self.outdatedBeforeInsisting) {
                    postponed.append((.now + AttemptLimits.contestedWait, candidate))
                } else {
                    decided.again.append(candidate)
                }
            case .failed(let rule, let reason):
                settled.deadLetter(plan.candidate, plan.candidate.deadLetter(rule: rule, reason: reason))
            case .postponed(let due): postponed.append((due, plan.candidate))
            case .ready where plan.decision.isChanged:
                decided.writes.append(plan.write(keepsContent: settings.observer?.wantsDocuments == true))
            case .ready(let hasEffect):
                if !hasEffect, !plan.decision.fired.isEmpty { settled.unchanged += 1 }
                settled.end(plan.candidate, isWrite: hasEffect)
            }
        }
        try await finish(settled)
        try await postpone(postponed)
        return decided
    }

    /// Lines are written last: what can't be done now is decided again later, and its lines with it.
    private func emittingLines(_ plans: [PreparedPlan]) async throws -> [PreparedPlan] {
        var plans = plans
        let emitting = plans.indices.filter { plans[$0].isReady && !plans[$0].plan.decision.outside.isEmpty }
        guard !emitting.isEmpty else { return plans }
        try await emit(emitting.map { plans[$0].plan })
        for index in emitting { plans[index].standing = .ready(hasEffect: true) }
        CrashPoint.outsideEffectsDone.pass()
        return plans
    }
}
