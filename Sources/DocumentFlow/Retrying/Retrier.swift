package import GatewayClient
package import Logging

/// Handles failed requests: logs and counts each failure, then waits according to the policy. One per task.
package struct Retrier: Sendable {
    private var policy: RetryPolicy
    private let pauses: Pauses
    private let logger: Logger
    private let noteRetry: @Sendable () async -> Void

    /// - Parameter noteRetry: Called for each request that is sent again.
    package init(
        _ policy: RetryPolicy, pauses: Pauses = Pauses(), logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.policy = policy
        self.pauses = pauses
        self.logger = logger
        self.noteRetry = noteRetry
    }

    /// Records a valid answer: earlier failures no longer count.
    package mutating func succeed() {
        policy.succeed()
        policy.settings.outage.end(logger, ifLongerThan: Outage.shortest)
    }

    /// Waits before the request is sent again.
    ///
    /// - Parameters:
    ///   - message: What failed, for the log. The error and the wait are added.
    ///   - metadata: Further metadata for the log. A `reason` replaces the error.
    ///   - stopsAll: Whether the run can do nothing else until the request succeeds.
    /// - Throws: ``RunError`` if the policy gives up, `CancellationError`, ``RunIsStopping``.
    package mutating func wait(
        after error: GatewayError, _ message: Logger.Message, _ metadata: Logger.Metadata = [:],
        level: Logger.Level = .warning, stopsAll: Bool = false
    ) async throws {
        if error.code == .cancelled { throw CancellationError() }
        switch policy.nextStep(after: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            try await pause(delay, after: error, message, metadata, level: level, stopsAll: stopsAll)
        }
    }

    /// Logs the error, counts a retry and waits `duration`. For callers that decide themselves how long to retry. The
    /// parameters are those of ``wait(after:_:_:level:stopsAll:)``.
    ///
    /// - Throws: `CancellationError`, ``RunIsStopping``.
    package func pause(
        _ duration: Duration, after error: GatewayError, _ message: Logger.Message,
        _ metadata: Logger.Metadata = [:], level: Logger.Level = .warning, stopsAll: Bool = false
    ) async throws {
        let facts: Logger.Metadata = [LogKey.reason: "\(error)", LogKey.wait: "\(duration.text)"]
        let isNew = policy.settings.outage.note(error, wait: duration, stopsAll: stopsAll)
        logger.log(level: isNew ? level : .debug, message, metadata: facts.merging(metadata) { _, given in given })
        policy.settings.observer?.note(.retried(error.code, wait: duration))
        await noteRetry()
        try await pauses.wait(duration)
    }
}
