/// Carries out one kind of effect of decisions.
protocol EffectStage {
    /// Whether it asks the gateway or writes files, which may take a while.
    var mayTakeLong: Bool { get }

    /// Whether a decision has effects of this stage.
    func applies(to plan: Plan) -> Bool

    /// Carries out effects of decisions. Repeating it is harmless: completed effects are detected.
    ///
    /// - Returns: One answer for each plan, in order.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`. Some effects may be done by then.
    mutating func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer]
}

extension EffectStage {
    var mayTakeLong: Bool { true }
}
