internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Monitoring
internal import ServiceLifecycle

/// The frame of a command that applies rules: gateway, state, summary and exit code.
struct Job: Sendable {
    /// What the command's work needs.
    struct Parts: Sendable {
        let gateway: Gateway
        let state: StatePlace
        let settings: Delivery.Settings
        let report: RunReport
        let logger: Logger
        /// Observes the run. Nil: no observer.
        let monitored: MonitoredBot?
    }

    /// The work itself.
    typealias Work = @Sendable (Parts) async throws -> Void

    let connection: GatewayConnection
    var place: StateLocation
    /// The hash of the rules at the start.
    let ruleSetHash: String
    let settings: Delivery.Settings
    /// Where the summary is written. Nil: nowhere.
    let summary: String?
    /// Whether the job ends by itself. Its exit code then reports dead letters.
    let isOneShot: Bool
    /// How long it may take to stop after a signal. Nil: another service handles signals.
    var grace: Duration?
    /// How progress is shown, for jobs that know their total. Default: not at all.
    var progress = ProgressPacing(.none)
    /// Whether another run may use the same state at the same time.
    var allowsConcurrentRuns = false
    /// Whether it only lets rules learn documents.
    var onlyLearns = false
    /// Publishes the run's status. Nil: no observer.
    var monitoring: RunMonitoring?

    private var isDryRun: Bool { settings.preview != nil }
    private var logger: Logger { connection.logger }

    /// Does the work, then writes the summary, even if the work fails.
    ///
    /// - Throws: ``CommandError``.
    func run(_ work: @escaping Work, whenDone: (RunCounters) -> Void = { _ in }) async throws {
        let report = RunReport()
        var failure: CommandError?
        let isStopped = Locked(false)
        do { try await runObserved(report, isStopped, work) } catch { failure = CommandError(error) }
        let counters = await report.counters()
        let failures = failures(counters)
        // Check the limit again, because documents that were under way at the stop are now finished.
        if let limit = settings.errorLimit, limit.isExceeded(by: failures) {
            failure = CommandError(RunError(limit, failures))
        }
        if failure == nil || counters.changes > 0 {
            let wasStopped = isStopped.withLock { $0 } || isOneShot && Task.isShuttingDownGracefully
            logDone(counters, isDone: failure == nil && !wasStopped)
            whenDone(counters)
        }
        if failure == nil, isOneShot { failure = shortfall(counters, settings.errorLimit) }
        if let summary {
            let code = (failure?.code ?? .done).rawValue
            var result = await report.summary(exitCode: code, isDryRun: isDryRun)
            result.onlyLearns = onlyLearns
            failure = OutputFile.writeSummary(result.json, to: summary, after: failure)
        }
        if let failure { throw failure }
    }

    private func failures(_ counters: RunCounters) -> Failures {
        var failures = counters.failures
        failures.isPreview = isDryRun
        return failures
    }

    private func shortfall(_ counters: RunCounters, _ limit: ErrorLimit?) -> CommandError? {
        let failures = failures(counters)
        if let limit, limit.isExceeded(by: failures, isFinal: true) {
            return CommandError(RunError(limit, failures))
        }
        guard counters.deadLetters > 0 else { return nil }
        let count = Quantity.count(counters.deadLetters, "change")
        let verb = isDryRun ? "would become" : "became"
        let deadLetters = "\(count) \(verb) \(counters.deadLetters == 1 ? "a dead letter" : "dead letters")"
        let most = Delivery.Settings.loggedDeadLetters
        let named = counters.deadLetters <= most ? "each" : "the first \(most) of each rule"
        let advice =
            isDryRun || place.isTemporary
            ? "\(logger.logLevel <= .error ? "" : "without --quiet ")the log names \(named)"
            : "see them with: changebot dead-letters list \(place.options)"
        return CommandError(.incomplete, "\(deadLetters); \(advice)")
    }

    /// Does the work under observation.
    ///
    /// - Parameter isStopped: Set once a signal has asked the job to stop.
    private func runObserved(_ report: RunReport, _ isStopped: Locked<Bool>, _ work: @escaping Work) async throws {
        defer { place.discardIfTemporary() }
        let state = try place.statePlace(ruleSetHash: ruleSetHash, for: purpose)
        let connect = { @Sendable (bot: MonitoredBot?) async throws in
            let observer: (@Sendable (RequestRecord) -> Void)? = if let bot { { bot.note($0) } } else { nil }
            try await connection.with(observer: observer) { gateway in
                var settings = settings
                settings.retries.observer = bot
                settings.stateOptions = place.lastingOptions
                let parts = Parts(
                    gateway: gateway, state: state, settings: settings, report: report, logger: logger,
                    monitored: bot)
                try await stoppable(report, isStopped) { try await work(parts) }
            }
        }
        guard let monitoring else { return try await connect(nil) }
        try await monitoring.whileWatching(report, outage: settings.retries.outage) { try await connect($0) }
    }

    private func stoppable(
        _ report: RunReport, _ isStopped: Locked<Bool>, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard let grace else { return try await work() }
        try await ProgressLine.show(progress) {
            try await StoppableService.run(grace: grace, logger: logger, isStopped: isStopped, work)
        } updateLine: { line in
            let counters = await report.counters()
            line.show(count: counters.changes, total: await report.expectedDocuments, bytes: counters.traffic.bytesIn)
        }
    }

    /// Logs the counters.
    private func logDone(_ counters: RunCounters, isDone: Bool) {
        logger.info(
            isDone ? "done" : "stopped",
            metadata: counters.logMetadata(isDryRun: isDryRun, onlyLearns: onlyLearns))
    }

    /// The purpose for which the state is opened.
    var purpose: StateCatalogue.Purpose {
        switch (allowsConcurrentRuns, isDryRun) {
        case (false, false): .run
        case (false, true): .preview
        case (true, false): .shared
        case (true, true): .previewOfExisting
        }
    }
}
