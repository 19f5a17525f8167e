package import DocumentFlow
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// The progress and the result of `changebot resolve`, successful or not. Safe to read from any thread.
package final class ResolveReport: Sendable {
    /// A snapshot of the run.
    package struct State: Sendable {
        /// `matched` counts documents in conflict, `rejected` those that remain in conflict.
        package var counters = RunCounters()
        /// Documents whose conflict was resolved; in a dry run, whose conflict would be resolved.
        package var resolved = 0
        /// Leaves that were kept unchanged.
        package var kept = 0
        /// New revisions that were merged from several leaves.
        package var merged = 0
        /// Documents in conflict that no policy covers, by type; without a type under "". They are not in `matched`.
        package var withoutPolicy: [String: Int] = [:]
        /// The number of changes to read; nil if unknown.
        package var expected: Int?
        /// Whether the run was asked to stop before the end.
        package var isStopped = false
    }

    private let began = ContinuousClock.now
    private let isDryRun: Bool
    private let locked = Locked(State())

    /// Starts the clock for the summary's `seconds`.
    package init(isDryRun: Bool = false) { self.isDryRun = isDryRun }

    /// A copy of the current state.
    package var state: State { locked.withLock { $0 } }

    /// Counts a retried request.
    package func noteRetry() { update { $0.counters.traffic.retries += 1 } }

    func update(_ change: (inout State) -> Void) { locked.withLock { change(&$0) } }

    func noteWithoutPolicy(type: String?) { update { $0.withoutPolicy[type ?? "", default: 0] += 1 } }

    func noteResolved(_ resolution: ConflictResolution) {
        update {
            $0.resolved += 1
            switch resolution {
            case .keep: $0.kept += 1
            case .write: $0.merged += 1
            case .delete, .leave: break
            }
        }
    }
}

extension ResolveReport: TransferReport {
    package var counters: RunCounters { state.counters }

    package var progress: TransferProgress {
        let state = state
        return TransferProgress(
            documents: state.counters.changes, expected: state.expected, isEstimate: true,
            bytes: state.counters.traffic.bytesOut)
    }

    package var failures: Failures {
        let counters = counters
        return Failures(.notResolved, counters.rejected, of: max(counters.matched, counters.rejected))
    }

    package func shortfall(isLogged: Bool) -> String {
        "\(failures); \(isLogged ? "" : "without --quiet ")the log names the first \(RepeatedMessages.limit), "
            + "or all with --log-level debug"
    }

    /// The JSON object of `--summary`, with `resolved`, `kept`, `merged` and `without_policy` added. In a dry run, the
    /// first three are 0, and `would_resolve` and so on are added.
    package func summary(exitCode: Int32) -> [UInt8] {
        let state = state
        let summary = RunSummary(
            counters: state.counters, lastSequence: nil, duration: began.duration(to: .now), exitCode: exitCode,
            isDryRun: isDryRun)
        var text = try? JSONText(summary.json)
        for (name, preview, count) in Self.counts(state) {
            text = try? text?.setting(JSONPointer(tokens: [name]), to: Array("\(isDryRun ? 0 : count)".utf8))
            if isDryRun { text = try? text?.setting(JSONPointer(tokens: [preview]), to: Array("\(count)".utf8)) }
        }
        let skipped = state.withoutPolicy.values.reduce(0, +)
        text = try? text?.setting(JSONPointer(tokens: [LogKey.withoutPolicy]), to: Array("\(skipped)".utf8))
        return text?.bytes ?? summary.json
    }

    /// Log metadata of the result.
    var metadata: Logger.Metadata {
        let state = state
        var metadata: Logger.Metadata = [
            LogKey.conflicts: "\(state.counters.matched)", LogKey.rejected: "\(state.counters.rejected)",
        ]
        for (name, preview, count) in Self.counts(state) { metadata[isDryRun ? preview : name] = "\(count)" }
        return metadata
    }

    /// Warns of the documents that no policy covers. They stay in conflict, but don't fail the run.
    func logWithoutPolicy(to logger: Logger) {
        let types = state.withoutPolicy.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        guard !types.isEmpty else { return }
        let names = types.map { "\($0.key.isEmpty ? "none" : $0.key): \($0.value)" }
        logger.warning(
            "documents are left in conflict: no --policy covers their type; add TYPE=POLICY, or a POLICY for all types",
            metadata: [
                LogKey.withoutPolicy: "\(types.reduce(0) { $0 + $1.value })",
                LogKey.types: "\(AbbreviatedList.text(names))",
            ])
    }

    private static func counts(_ state: State) -> [(name: String, preview: String, count: Int)] {
        [
            (LogKey.resolved, LogKey.wouldResolve, state.resolved), (LogKey.kept, LogKey.wouldKeep, state.kept),
            (LogKey.merged, LogKey.wouldMerge, state.merged),
        ]
    }
}
