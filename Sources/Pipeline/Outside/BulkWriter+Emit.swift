internal import DocumentFlow
internal import Rules

// The lines that rules emit.
extension BulkWriter {
    /// Writes all lines of a batch, one file after the other. They are on disk when it returns.
    ///
    /// - Throws: `RunError` with `.cannotWrite`: the changes are not finished, so the next run emits their lines again.
    func emit(_ plans: [Planner.Plan]) async throws {
        guard let outputs = shared.outputs else { return }
        var lines: [(target: EmitTarget, line: [UInt8])] = []
        for plan in plans {
            for effect in plan.decision.outside {
                guard case .emit(let emit) = effect.kind else { continue }
                lines.append((emit.target, emit.bytes(identity(of: effect, action: "emit", in: plan))))
            }
        }
        guard !lines.isEmpty else { return }
        try await outputs.append(lines)
        let count = lines.count
        await progress.count { $0.emitted += count }
    }
}
