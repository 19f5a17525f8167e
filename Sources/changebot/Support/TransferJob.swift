internal import DocumentFlow
internal import Locking
internal import Logging
internal import ServiceLifecycle
internal import Transfer

/// The frame of an export, import or replication: signals, progress, summary and exit code.
struct TransferJob {
    let options: CommonJobOptions
    let environment: Environment
    let logger: Logger
    let progress: ProgressPacing

    /// Runs a service until it ends or is asked to stop.
    typealias Start = (any Service) async throws -> Void

    /// Calls `work`, which runs the service, then writes the summary, even if it fails.
    ///
    /// - Throws: ``CommandError``.
    ///
    /// - Parameter isStopped: Set once a signal has asked the job to stop.
    func run(
        _ report: some TransferReport, limit: ErrorLimit?, isStopped: Locked<Bool> = Locked(false),
        _ work: (Start) async throws -> Void
    ) async throws {
        let grace = try options.grace(environment)
        var failure: CommandError?
        do {
            try await work { service in
                try await ProgressLine.show(progress) {
                    try await StoppableService.run(grace: grace, logger: logger, isStopped: isStopped) {
                        try await service.run()
                    }
                } updateLine: { line in
                    let progress = report.progress
                    line.show(
                        count: progress.documents, total: progress.expected, isEstimate: progress.isEstimate,
                        bytes: progress.bytes)
                }
            }
        } catch {
            failure = CommandError(error)
        }
        if failure == nil { failure = shortfall(report, limit) }
        try finish(report, failure)
    }

    private func shortfall(_ report: some TransferReport, _ limit: ErrorLimit?) -> CommandError? {
        let failures = report.failures
        if let limit, limit.isExceeded(by: failures, isFinal: true) {
            return CommandError(RunError(limit, failures))
        }
        guard failures.count > 0 else { return nil }
        return CommandError(.incomplete, report.shortfall(isLogged: logger.logLevel <= .warning))
    }

    private func finish(_ report: some TransferReport, _ failure: CommandError?) throws {
        var failure = failure
        if let path = options.summaryPath(environment) {
            let summary = report.summary(exitCode: (failure?.code ?? .done).rawValue)
            failure = OutputFile.writeSummary(summary, to: path, after: failure)
        }
        if let failure { throw failure }
    }
}
