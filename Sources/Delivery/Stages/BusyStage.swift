internal import Rules

/// Postpones documents that are written too often. Their latest content is decided later.
struct BusyStage: EffectStage {
    let context: RoundContext
    let mayTakeLong = false

    func applies(to plan: Plan) -> Bool { plan.decision.isChanged }

    func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer] {
        let places = plans.map { DocumentAddress(keyspace: nil, id: $0.candidate.id) }
        let due = await context.targets.busy.due(places)
        if !due.isEmpty {
            await context.targets.busy.log(places.filter { due[$0] != nil }, to: context.logger)
        }
        return places.map { due[$0].map { .waits(until: $0) } ?? .done(hasEffect: false) }
    }
}
