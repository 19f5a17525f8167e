internal import BotState
internal import GatewayClient
internal import Rules

// What the trace says about decisions. Dead letters have entries of their own.
extension CandidateOutcomes {
    /// The entries about finished candidates. Decisions without any effect in which no rule fired have none.
    ///
    /// - Parameter times: The timers that change.
    func traces(_ times: TimeChanges) -> [TraceEntry] {
        let times = Dictionary(times.documents.map { ($0.id, $0.times) }) { _, last in last }
        return decided.compactMap { $0.trace(times[$0.candidate.id]) }
            + deadLettered.filter { !$0.ended.result.effects.isEmpty }.compactMap { $0.ended.trace(nil) }
    }
}

extension CandidateOutcomes.Ended {
    fileprivate func trace(_ times: [RuleTime]?) -> TraceEntry? {
        guard let kind = kind(times) else { return nil }
        var decision = TraceEntry.Decision(kind, revision: candidate.content.revision)
        if case .wrote(let revision) = outcome {
            (decision.revision, decision.newRevision) = (result.replacedRevision, revision)
        }
        decision.rules = result.rules
        decision.cause = candidate.reason.isTimer ? .timer : candidate.reason.isRetry ? .retry : nil
        decision.effects = result.effects
        decision.times = times
        return .decision(candidate.id, decision)
    }

    /// Nil: there is nothing to trace.
    private func kind(_ times: [RuleTime]?) -> TraceEntry.Result? {
        switch outcome {
        case .wrote: result.isDeletion ? .deleted : .written
        case .hadOtherEffects: .otherEffects
        case .resolved: .resolved
        case .unchanged: result.rules.isEmpty && times == nil ? nil : .unchanged
        case .deadLettered: .deadLettered
        case .shown, .skipped: nil
        }
    }
}

extension Round {
    /// Notes the lines that were emitted.
    mutating func traceLines() {
        guard context.state.ledger.traces else { return }
        for index in active.indices {
            guard let plan = active[index].staged else { continue }
            active[index].note(context.emitted(by: plan))
        }
    }
}

extension RoundContext {
    fileprivate func emitted(by plan: StagedPlan) -> [TraceEntry.Effect] {
        plan.decision.outside.compactMap { effect in
            guard case .emit(let emit) = effect.kind else { return nil }
            return trace(effect, "emit", to: emit.target.path, identity(of: effect, action: "emit", in: plan).id)
        }
    }

    /// What the trace says about an effect outside the database.
    func trace(_ effect: OutsideEffect, _ action: String, to receiver: String, _ event: String) -> TraceEntry.Effect {
        TraceEntry.Effect(
            action: action, rule: rules.set.names[effect.origin.rule], receiver: receiver, event: event)
    }
}
