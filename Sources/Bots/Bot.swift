internal import BotState
internal import Delivery
internal import DocumentFlow
internal import FleetEngine
package import GatewayClient
internal import Locking
package import Logging
internal import PostgreSQL
package import Rules
internal import ServiceLifecycle

/// `changebot run`: follows the feed of one keyspace and applies the rules.
///
/// On graceful shutdown it stops reading, finishes the changes it has read, saves the checkpoint and returns. Changes
/// that wait for another attempt are left to the next run. Cancelling drops the work under way, which the next run
/// repeats.
package struct Bot: Service {
    let gateway: Gateway
    let ruleSet: RuleSet
    let settings: BotSettings
    let logger: Logger
    let report: RunReport
    private let place: StatePlace
    private(set) var keeper: StateKeeper
    let engine: Engine?
    /// Nil: this process works alone.
    let sharedWork: SharedWork?
    /// Whether this process of a fleet was active or on standby before.
    let hasStartedBefore = Locked(false)

    /// - Parameter report: Reports on the run, and continues to do so after a reset of the database.
    package init(
        gateway: Gateway, ruleSet: RuleSet, state: StatePlace, settings: BotSettings, report: RunReport,
        logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.report = report
        self.logger = logger
        let state = state.limited(by: CallLimit())
        let engine = state.isReadOnly ? nil : state.catalogue.engine
        self.engine = engine
        var settings = settings
        if let clock = engine?.clock {
            clock.watch(settings.delivery.now) { Self.warn(ofClock: $0, logger) }
            if settings.fleet.usesEngineTime { settings.delivery.now = { clock.now() } }
        }
        self.settings = settings
        let sharing = state.isReadOnly ? nil : settings.fleet.sharing
        sharedWork = sharing.flatMap { sharing in
            if let log = settings.fleet.workLog { return SharedWork(log, sharing, logger: logger) }
            return engine.map { SharedWork($0, sharing, logger: logger) }
        }
        place = state
        keeper = Self.keeper(state, gateway, ruleSet, settings, report, logger)
    }

    /// Returns at the end of a one-shot run, or after a graceful shutdown.
    ///
    /// - Throws: `RunError` or ``StateError``.
    package func run() async throws {
        // Prepares the rules while the first requests are under way.
        ruleSet.prepare()
        guard let engine else { return try await runAlone() }
        try await withTaskCancellationHandler {
            try await engine.renewingLease {
                if settings.isOneShot { try await runAlone() } else { try await runWithStandby(engine) }
            }
        } onCancel: {
            engine.abortRemainingCalls()
        }
    }

    private func runWithStandby(_ engine: Engine) async throws {
        let standby = Standby(
            engine, ruleSetHash: ruleSet.hash, sharing: settings.fleet.sharing, report: report,
            observer: settings.delivery.observer, logger: logger, lossDelay: settings.fleet.lossDelay)
        let watch = FleetStatusReader(engine, isSharing: sharedWork != nil)
        await report.watch(watch)
        defer {
            engine.limitRemainingCalls()
            sharedWork?.close()
            standby.leave()
            watch.close()
        }
        do {
            while true {
                try await cancelWhenGracefulShutdown { try await standby.waitUntilAvailable() }
                let isEstablished = await standby.isEstablished
                hasStartedBefore.withLock { $0 = isEstablished }
                do {
                    guard try await standby.runUntilDrained(runWhileActive) else { return }
                    // The turn is over, but the process continues.
                    engine.allowCalls()
                    await report.reconnect()
                } catch let error as StateError {
                    guard await standby.canRetry(after: error) else { throw error }
                    if !Task.isShuttingDownGracefully { engine.allowCalls() }
                    try await cancelWhenGracefulShutdown { try await standby.note(error) }
                }
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// - Parameter lead: How many seconds this machine's clock is ahead of the engine's.
    private static func warn(ofClock lead: Int, _ logger: Logger) {
        guard lead != 0 else { return logger.notice("this machine's clock and the engine's agree again") }
        logger.warning(
            "this machine's clock and the engine's differ; set the one that is wrong",
            metadata: [LogKey.difference: "\(abs(lead)) s \(lead < 0 ? "behind" : "ahead")"])
    }

    private func runWhileActive() async throws {
        guard let sharedWork else { return try await runAlone() }
        var member = self
        member.keeper = Self.keeper(
            place.shared(try await sharedWork.join()), gateway, ruleSet, settings, report, logger)
        do { try await member.runAlone() } catch {
            await sharedWork.leave()
            throw error
        }
        await sharedWork.leave()
    }

    private static func keeper(
        _ place: StatePlace, _ gateway: Gateway, _ ruleSet: RuleSet, _ settings: BotSettings, _ report: RunReport,
        _ logger: Logger
    ) -> StateKeeper {
        StateKeeper(
            place: place, gateway: gateway, name: settings.name, retries: settings.delivery.retries, report: report,
            logger: logger, channels: settings.feed.channels?.sorted(),
            // Of members that share the work, only the leader reads the feed and notices a reset at once.
            checkInterval: settings.fleet.sharing == nil
                ? settings.checkInterval : min(settings.checkInterval, DatabaseResetDetector.sharingMemberInterval),
            lostMark: settings.fleet.sharing == nil && settings.resetPolicy(for: ruleSet) == .restart
                ? .startOver : .writeAgain,
            beforeCreation: { () async throws(GatewayError) in try await gateway.check(settings.feed.since) })
    }

    /// Runs as the only process with this state, or as one of several that share the work.
    private func runAlone() async throws {
        var state: StateCatalogue.Opened?
        defer { state?.ledger.close() }
        do {
            // A run whose rules were changed continues on the same gateway.
            var hasConnectedBefore = await report.hasDelivered
            while true {
                let (info, checked) = try await cancelWhenGracefulShutdown { [state, hasConnectedBefore] in
                    try await prepare(state, hasConnectedBefore: hasConnectedBefore)
                }
                state = checked.state
                do { return try await follow(info, checked, hasConnectedBefore: hasConnectedBefore) } catch let reset
                    as DatabaseReset
                {
                    state = try await startOver(reset, checked.state)
                }
                hasConnectedBefore = true
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// Waits for the gateway, identifies the database and opens its state. A run that is refused leaves neither state
    /// nor mark behind.
    ///
    /// - Parameters:
    ///   - held: The state, if this run has already opened it.
    ///   - hasConnectedBefore: Whether this run has read from the database before: if so, a daemon waits while it is
    ///     missing.
    private func prepare(
        _ held: StateCatalogue.Opened?, hasConnectedBefore: Bool
    ) async throws -> (info: DatabaseInfo, checked: StateKeeper.CheckedState) {
        let info = try await keeper.contact.connect(to: gateway, hasConnectedBefore: hasConnectedBefore)
        try gateway.check(channels: settings.feed.channels)
        if settings.feed.channels != nil, let rule = ruleSet.aggregates.first {
            throw RunError(
                .badConfiguration,
                "the rule '\(rule.name)' counts the documents of the whole database: leave --channels out, or run it "
                    + "in a separate bot")
        }
        try Delivery.check(ruleSet, on: gateway, settings.delivery, logger)
        if held == nil, !hasConnectedBefore { keeper.warnAboutName() }
        return (info, try await keeper.open(held, onReset: startOver))
    }

    /// Starts over after a reset of the database, if the settings allow it.
    ///
    /// - Returns: The state to continue with; nil if it must be looked up.
    private func startOver(
        _ reset: DatabaseReset, _ state: StateCatalogue.Opened
    ) async throws -> StateCatalogue.Opened? {
        if sharedWork != nil {
            throw RunError(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning, stop all members, then: "
                    + "changebot fleet reset \(engine?.options ?? "")")
        }
        guard settings.resetPolicy(for: ruleSet) == .restart else {
            let consequence = ruleSet.actsOutside ? ", which repeats the webhooks and events of its rules" : ""
            throw RunError(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning\(consequence), run with --on-reset restart"
            )
        }
        logger.warning("starting over from the beginning", metadata: [LogKey.reason: "\(reset.reason)"])
        return try await keeper.renew(reset, state) { identity in
            try await state.ledger.startOver(identity: identity, at: .start, reason: reset.reason, record: reset.record)
        }
    }
}

extension Gateway {
    /// Checks that the gateway accepts the sequence at which a run without a checkpoint starts.
    fileprivate func check(_ since: BotSettings.Start?) async throws(GatewayError) {
        guard case .sequence(let sequence) = since else { return }
        var answer = try await changes(ChangesRequest(since: sequence, includesDocuments: false, limit: 1))
        _ = try await answer.next()
    }
}

extension DatabaseInfo {
    /// Whether `updateSequence` is the newest sequence now.
    var hasNewestSequence: Bool { isOnline && updateSequence != nil }
}
