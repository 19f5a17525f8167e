internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// Resolves the conflicts of documents. Nothing else is done to these: what is left of them is decided next.
struct ResolveStage: EffectStage {
    let context: RoundContext

    func isFor(_ plan: Plan) -> Bool { plan.decision.resolution != nil }

    func carryOut(_ plans: [StagedPlan]) async throws -> [Course.StageAnswer] {
        let documents = plans.compactMap { plan -> ConflictingDocument? in
            guard let effect = plan.decision.resolution, let conflict = plan.candidate.content.conflict else {
                return nil
            }
            return ConflictingDocument(id: plan.candidate.id, conflict: conflict, policies: effect.policies)
        }
        guard !documents.isEmpty, let resolver = context.conflicts else {
            return plans.map { _ in .notResolved(nil) }
        }
        let resolved = try await resolver.resolve(documents)
        CrashPoint.written.pass()
        await context.progress.count { [sent = resolved.counters] in $0.addSent(sent) }
        return plans.map { answer(resolved.outcomes[$0.candidate.id] ?? .none, for: $0) }
    }

    private func answer(_ outcome: ResolvedConflicts.Outcome, for plan: StagedPlan) -> Course.StageAnswer {
        switch outcome {
        case .resolved: return .resolved
        case .none: return .notResolved(nil)
        case .left(let reason):
            let reason = "left in conflict: \(reason)"
            guard let rule = plan.decision.resolution?.rule, context.rules.set.skipsErrors(of: rule) else {
                return .impossible(rule: nil, reason: reason)
            }
            return .notResolved(SkippedRule(rule: context.rules.set.names[rule], reason: reason))
        }
    }
}
