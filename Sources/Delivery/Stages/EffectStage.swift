/// Carries out one kind of effect of decisions.
protocol EffectStage {
    /// Whether it asks the gateway or writes files, which may take a while.
    var asksOthers: Bool { get }

    /// Whether a decision wants anything of this stage.
    func isFor(_ plan: Plan) -> Bool

    /// Carries out what decisions want. May be repeated: what is done is found to be done.
    ///
    /// - Returns: An answer for each, in order.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`. Some of it may be done then.
    mutating func carryOut(_ plans: [StagedPlan]) async throws -> [Course.StageAnswer]
}

extension EffectStage {
    var asksOthers: Bool { true }
}
