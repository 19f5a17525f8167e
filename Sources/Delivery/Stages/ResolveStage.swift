internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Revisions
internal import Rules

/// Resolves the conflicts of documents. No other effects are carried out for these: the remaining leaf is decided next.
struct ResolveStage: EffectStage {
    let context: RoundContext

    func applies(to plan: Plan) -> Bool { plan.decision.resolution != nil }

    func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer] {
        let cases = plans.compactMap { plan -> ConflictCase? in
            guard let effect = plan.decision.resolution, let conflict = plan.candidate.content.conflict else {
                return nil
            }
            return ConflictCase(plan.candidate.id, conflict, effect.policies)
        }
        guard !cases.isEmpty, let resolver = context.conflicts else {
            return plans.map { _ in .notResolved(nil) }
        }
        let (ends, sent) = try await resolver.resolve(cases)
        CrashPoint.written.pass()
        await context.progress.count { $0.addSent(sent) }
        return plans.map { answer(ends[$0.candidate.id] ?? .nothing, for: $0) }
    }

    private func answer(_ end: ConflictResult, for plan: StagedPlan) -> CandidateProgress.StageAnswer {
        switch end {
        case .resolved: return .resolved
        case .nothing, .changed: return .notResolved(nil)
        case .left(let reason):
            let reason = "left in conflict: \(reason)"
            let rule = plan.decision.resolution?.rule
            guard let rule, context.rules.set.skipsErrors(of: rule) else {
                return .impossible(rule: rule.map { context.rules.set.names[$0] }, reason: reason)
            }
            return .notResolved(SkippedRule(rule: context.rules.set.names[rule], reason: reason))
        }
    }
}
