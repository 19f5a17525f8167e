internal import DocumentFlow
internal import Rules

// The lines that rules emit.
extension BulkWriter {
    /// So many bytes of lines are written at once. `for_each` can make many long lines of one document.
    private static let portion = 4 << 20

    /// Writes all lines of a batch, one file after the other. They are on disk when it returns.
    ///
    /// - Throws: `RunError` with `.cannotWrite`: the changes are not finished, so the next run emits their lines again.
    func emit(_ plans: [Planner.Plan]) async throws {
        guard let outputs = shared.outputs else { return }
        var lines: [(target: EmitTarget, line: [UInt8])] = []
        var byteCount = 0
        for plan in plans {
            for effect in plan.decision.outside {
                guard case .emit(let emit) = effect.kind else { continue }
                let line = emit.bytes(identity(of: effect, action: "emit", in: plan))
                lines.append((emit.target, line))
                byteCount += line.count
                guard byteCount >= Self.portion else { continue }
                try await write(lines, to: outputs)
                (lines, byteCount) = ([], 0)
            }
        }
        try await write(lines, to: outputs)
    }

    private func write(_ lines: [(target: EmitTarget, line: [UInt8])], to outputs: LineOutputs) async throws {
        guard !lines.isEmpty else { return }
        try settings.retries.requireTenure?()
        try await outputs.append(lines)
        await progress.count { $0.emitted += lines.count }
    }
}
