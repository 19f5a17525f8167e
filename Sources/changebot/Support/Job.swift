internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import FoundationEssentials
internal import GatewayClient
internal import Locking
internal import Logging
internal import Monitoring
internal import ServiceLifecycle
internal import Transfer

/// Runs the pipeline as a command, with state, gateway, summary and exit code.
struct Job: Sendable {
    /// What a command needs to make its service.
    struct Parts: Sendable {
        let gateway: Gateway
        let state: StatePlace
        let settings: Delivery.Settings
        let report: RunReport
        let logger: Logger
        /// Observes the run. Nil: no observer.
        let monitored: MonitoredBot?
    }

    let options: CommonJobOptions
    let access: AccessOptions
    let environment: Environment
    let logger: Logger
    /// Of the rules at the start.
    let ruleSetHash: String
    let place: StateLocation
    let choice: GatewayChoice
    let settings: Delivery.Settings
    /// Whether the job ends by itself. Its exit code then reports dead letters.
    let isOneShot: Bool
    /// How progress is shown, for jobs that know their end. Default: not at all.
    var progress = ProgressPacing(.none)
    /// Whether a missing file of an embedded gateway is made. Default: it is not.
    var fileUse = EmbeddedFileUse.existing
    /// Whether another run may use the same state at the same time.
    var isBesideRun = false
    /// Publishes the run's status. Nil: no observer.
    var monitoring: RunMonitoring?
    /// Whether the job runs inside a service that handles signals. Default: the job handles them itself.
    var isPartOfService = false

    private var isDryRun: Bool { settings.preview != nil }

    /// Checks the settings for login and TLS, and reads the files that they name.
    ///
    /// - Returns: The file with the secret; nil if there is none.
    /// - Throws: ``CommandError``.
    func checkAccess() throws(CommandError) -> SecretFile? {
        guard case .remote(let url) = choice else { return nil }
        _ = try access.settings(for: url, environment)
        return try Credentials(environment).file
    }

    /// Runs the service that `make` returns, then writes the summary, even if the service fails.
    ///
    /// - Throws: ``CommandError``.
    func run(
        _ make: @Sendable (Parts) throws -> some Service, whenDone: (RunCounters) -> Void = { _ in }
    ) async throws {
        let report = RunReport()
        var failure: CommandError?
        let isStopped = Locked(false)
        do { try await work(report, isStopped, make) } catch { failure = CommandError(error) }
        let counters = await report.counters()
        let failures = failures(counters)
        // The limit is checked again: documents that were under way at the stop are finished by now.
        if let limit = settings.errorLimit, limit.isExceeded(by: failures) {
            failure = CommandError(RunError(limit, failures))
        }
        if failure == nil || counters.changes > 0 {
            logDone(counters, isDone: failure == nil && !isStopped.withLock { $0 })
            whenDone(counters)
        }
        if failure == nil, isOneShot { failure = shortfall(counters, settings.errorLimit) }
        let code = (failure?.code ?? .done).rawValue
        if let path = options.summaryPath(environment) {
            let summary = await report.summary(exitCode: code, isDryRun: isDryRun)
            failure = OutputFile.writeSummary(summary.json, to: path, after: failure)
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

    /// - Parameter isStopped: Set once a signal has asked the job to stop.
    private func work(
        _ report: RunReport, _ isStopped: Locked<Bool>, _ make: @Sendable (Parts) throws -> some Service
    ) async throws {
        defer { place.discardIfTemporary() }
        let state = try place.statePlace(ruleSetHash: ruleSetHash, for: purpose)
        guard let monitoring else { return try await work(report, isStopped, make, state, nil) }
        try await monitoring.whileWatching(report, outage: settings.retries.outage) { bot in
            try await work(report, isStopped, make, state, bot)
        }
    }

    private func work(
        _ report: RunReport, _ isStopped: Locked<Bool>, _ make: @Sendable (Parts) throws -> some Service,
        _ state: StatePlace, _ bot: MonitoredBot?
    ) async throws {
        let observer: (@Sendable (RequestRecord) -> Void)? = if let bot { { bot.note($0) } } else { nil }
        try await GatewayConnection.with(
            choice, for: fileUse, access: access, environment: environment, logger: logger, observer: observer
        ) { gateway in
            var settings = settings
            settings.retries.observer = bot
            settings.stateOptions = place.lastingOptions
            let parts = Parts(
                gateway: gateway, state: state, settings: settings, report: report, logger: logger,
                monitored: bot)
            let service = try make(parts)
            try await ProgressLine.show(progress) {
                if isPartOfService { return try await service.run() }
                try await StoppableService.run(
                    service, grace: try options.grace(environment), logger: logger, isStopped: isStopped)
            } standing: { line in
                let counters = await report.counters()
                line.show(count: counters.changes, total: await report.expectedDocuments, bytes: counters.bytesIn)
            }
        }
    }

    /// Logs the counters.
    private func logDone(_ counters: RunCounters, isDone: Bool) {
        logger.info(
            isDone ? "done" : "stopped",
            metadata: [
                "looked_at": "\(counters.changes)", "matched": "\(counters.matched)",
                isDryRun ? "would_write" : "written": "\(isDryRun ? counters.shown : counters.written)",
                "unchanged": "\(counters.unchanged)",
                isDryRun ? LogKey.wouldDeadLetter : LogKey.deadLetters: "\(counters.deadLetters)",
            ])
    }

    /// The purpose for which the state is opened.
    private var purpose: StateCatalogue.Purpose {
        switch (isBesideRun, isDryRun) {
        case (false, false): .run
        case (false, true): .preview
        case (true, false): .shared
        case (true, true): .previewOfExisting
        }
    }
}
