internal import Locking
package import Logging
internal import Rules
internal import ServiceLifecycle

/// Replicates in both directions: one after the other, or both at the same time if the replication is continuous.
/// Conflicts with an end that keeps one leaf are settled if there are policies. A revision that came from the other end
/// is not sent back, because that end has it.
package struct TwoWayReplicator: Service {
    private let first: Replicator
    private let second: Replicator
    private let report: ReplicationReport
    private let isContinuous: Bool
    private let logger: Logger

    /// - Parameters:
    ///   - back: The settings of the opposite direction, with the retry settings of the ends swapped.
    ///   - report: Counts the revisions of both directions; its sequence is that of the source.
    package init(
        from source: ReplicationEnd, to target: ReplicationEnd, settings: ReplicationSettings,
        back: ReplicationSettings, report: ReplicationReport, logger: Logger
    ) {
        let locks = SettlementContext.makeLocks()
        func settling(by policies: ConflictPolicies?, back: ReplicationSettings) -> SettlementContext? {
            policies.map { SettlementContext(policies: $0, back: back, locks: locks) }
        }
        var (settings, back) = (settings, back)
        (settings.logsTarget, back.logsTarget) = (true, true)
        first = Replicator(
            from: source, to: target, settings: settings, direction: .forward,
            settling: settling(by: settings.policies, back: back),
            report: report, logger: logger)
        second = Replicator(
            from: target, to: source, settings: back, direction: .backward,
            settling: settling(by: back.policies, back: settings), report: report, logger: logger)
        self.report = report
        isContinuous = settings.isContinuous
        self.logger = logger
    }

    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        if isContinuous {
            try await withThrowingTaskGroup { group in
                group.addTask { try await first.run() }
                group.addTask { try await second.run() }
                try await group.waitForAll()
            }
        } else {
            try await first.run()
            if !report.state.isStopped { try await second.run() }
        }
        report.logEnd(to: logger)
    }
}
