internal import Encodings
internal import GatewayClient
internal import Rules

// What rules want outside the database: it is done before the changed documents are written.
extension BulkWriter {
    /// Carries out the effects outside, those of one change in order. A crash afterwards repeats them with the same
    /// ``EffectKey``.
    ///
    /// - Parameter others: Plans whose other documents could not be written are left out.
    func carryOut(
        _ plans: [Planner.Plan], after others: OtherDocuments.Result, _ context: inout WriterContext
    ) async throws -> OutsideResult {
        var result = OutsideResult()
        let ended = others.ended
        let wanted = plans.indices.filter { !ended.contains($0) && !plans[$0].decision.outside.isEmpty }
        guard !wanted.isEmpty else { return result }
        try await emit(wanted.map { plans[$0] })
        result.plansWithEffects.formUnion(wanted)
        CrashPoint.outsideEffectsDone.pass()
        return result
    }

    /// What makes the event of an effect unique, also after a crash.
    func identity(of effect: OutsideEffect, action: String, in plan: Planner.Plan) -> CloudEvent.Identity {
        let key = EffectKey.text(
            database: shared.database, document: plan.report.document,
            rule: shared.ruleSet.names[effect.origin.rule], action: action, effect.origin,
            time: plan.decision.firedTimes[effect.origin.rule])
        return CloudEvent.Identity(id: key, time: Timestamp.secondsNow, keyspace: "\(shared.gateway.url.keyspace)")
    }

    /// The result of the effects outside, by plan.
    struct OutsideResult {
        /// Why an effect is impossible: the change becomes a dead letter.
        var failures: [Int: String] = [:]
        /// Plans that are decided again later, and when.
        var postponed: [Int: ContinuousClock.Instant] = [:]
        /// Plans all of whose effects were carried out.
        var plansWithEffects: Set<Int> = []
    }
}
