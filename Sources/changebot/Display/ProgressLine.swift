internal import Locking

/// Shows the progress of a job on stderr. Any task may call it at any rate; most calls show nothing.
final class ProgressLine: Sendable {
    private let output: StandardErrorOutput
    private let elapsed: @Sendable () -> Duration
    private let width: @Sendable () -> Int
    private let pacing: Locked<ProgressPacing>
    /// The values that were last shown.
    private let shown = Locked((count: -1, bytes: -1))

    /// - Parameters:
    ///   - elapsed: The time since the start of the job.
    ///   - width: The columns of the terminal. Called for each line, because windows can be resized.
    init(
        _ pacing: ProgressPacing, output: StandardErrorOutput = .shared, elapsed: @escaping @Sendable () -> Duration,
        width: @escaping @Sendable () -> Int = { TerminalStyle.width(of: .standardError) }
    ) {
        self.pacing = Locked(pacing)
        self.output = output
        self.elapsed = elapsed
        self.width = width
    }

    /// Progress of a job that starts now.
    convenience init(_ pacing: ProgressPacing) {
        let start = ContinuousClock.now
        self.init(pacing, elapsed: { start.duration(to: .now) })
    }

    func show(count: Int, total: Int? = nil, isEstimate: Bool = false, bytes: Int = 0) {
        let elapsed = elapsed()
        let form = pacing.withLock { $0.isDue(at: elapsed) ? $0.form : .none }
        // Otherwise a job that waits for changes would write the same line forever.
        let hasChanged = shown.withLock { shown in
            defer { if form != .none { shown = (count, bytes) } }
            return shown != (count, bytes)
        }
        guard hasChanged || form == .redrawn else { return }
        let state = ProgressState(
            count: count, total: total, isEstimate: isEstimate, bytes: bytes, elapsed: elapsed)
        switch form {
        case .none: break
        // Leave the last column free: some terminals start a new line there.
        case .redrawn: output.show(status: state.line(width: width() - 1))
        case .lines: output.write(Array((state.text + "\n").utf8))
        case .json: output.write(state.logLine.json)
        }
    }

    /// Removes the line at the end of the job. The log reports the result.
    func finish() { output.show(status: "") }

    /// Shows progress while `work` runs.
    ///
    /// - Parameter updateLine: Updates the line with the current progress. Not called if progress is hidden.
    static func show(
        _ pacing: ProgressPacing, while work: @escaping @Sendable () async throws -> Void,
        updateLine: @escaping @Sendable (ProgressLine) async -> Void
    ) async throws {
        guard pacing.form != .none else { return try await work() }
        let line = ProgressLine(pacing)
        defer { line.finish() }
        try await withThrowingTaskGroup { group in
            group.addTask { try await work() }
            group.addTask {
                while true {
                    await updateLine(line)
                    try await Task.sleep(for: pacing.interval)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}
