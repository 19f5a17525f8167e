internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Outside
internal import Rules

/// Writes the lines that rules emit. They are on disk when it has answered.
struct EmitStage: EffectStage {
    /// How many bytes of lines are written at once. `for_each` can make many long lines from one document.
    private static let portionBytes = 4 << 20

    let context: RoundContext

    /// Webhooks were sent before this stage, so after it all effects outside the database are done.
    func applies(to plan: Plan) -> Bool { !plan.decision.outside.isEmpty }

    /// - Throws: `RunError` with `.cannotWrite`: the changes are not finished, so the next run emits their lines again.
    func carryOut(_ plans: [StagedPlan]) async throws -> [CandidateProgress.StageAnswer] {
        if let outputs = context.outputs, !InjectedFault.skippedLine.isActive { try await emit(plans, to: outputs) }
        CrashPoint.outsideEffectsDone.pass()
        return plans.map { _ in .done(hasEffect: true) }
    }

    /// Writes all lines of a batch, one file after the other.
    private func emit(_ plans: [StagedPlan], to outputs: LineOutputs) async throws {
        var lines: [(target: EmitTarget, line: [UInt8])] = []
        var byteCount = 0
        for plan in plans {
            for effect in plan.decision.outside {
                guard case .emit(let emit) = effect.kind else { continue }
                let line = emit.bytes(context.identity(of: effect, action: "emit", in: plan))
                lines.append((emit.target, line))
                byteCount += line.count
                guard byteCount >= Self.portionBytes else { continue }
                try await write(lines, to: outputs)
                (lines, byteCount) = ([], 0)
            }
        }
        try await write(lines, to: outputs)
    }

    private func write(_ lines: [(target: EmitTarget, line: [UInt8])], to outputs: LineOutputs) async throws {
        guard !lines.isEmpty else { return }
        try context.settings.retries.requireTenure?()
        try await outputs.append(lines)
        await context.progress.count { $0.outside.lines += lines.count }
    }
}

extension RoundContext {
    /// What makes the event of an effect unique, also after a crash.
    func identity(of effect: OutsideEffect, action: String, in plan: StagedPlan) -> CloudEvent.Identity {
        let key = EffectKey.text(
            database: rules.database, document: plan.plan.report.document,
            rule: rules.set.names[effect.origin.rule], action: action, effect.origin,
            time: plan.decision.firedTimes[effect.origin.rule], edge: plan.decision.firedEdges[effect.origin.rule],
            passTime: mode.passTime)
        let id = InjectedFault.newLineID.isActive && action == "emit" ? "\(key)-\(settings.now())" : key
        return CloudEvent.Identity(id: id, time: settings.now(), keyspace: "\(gateway.url.keyspace)")
    }
}
