internal import DocumentFlow
package import GatewayClient
package import Logging
package import Rules
internal import ServiceLifecycle

/// `changebot run`: follows the feed of one keyspace and applies the rules.
///
/// On graceful shutdown it stops reading, finishes what it has taken in, saves the checkpoint and returns; what waits
/// for another attempt is left to the next run. Cancelling drops what is under way: the next run sees it again.
package struct Bot: Service {
    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let settings: BotSettings
    private let logger: Logger
    private let report: RunReport
    private let contact: FirstContact
    private let keeper: StateKeeper

    /// - Parameter report: Follows the run, also beyond a reset of the database.
    package init(
        gateway: Gateway, ruleSet: RuleSet, state: StateSource, settings: BotSettings, report: RunReport,
        logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.settings = settings
        self.report = report
        self.logger = logger
        contact = FirstContact(
            gateway: gateway, retries: settings.delivery.retries, report: report, logger: logger)
        keeper = StateKeeper(
            source: state, marks: MarkDocument(gateway: gateway, name: settings.name), contact: contact,
            logger: logger)
    }

    /// With a state that is already open, whatever database it belongs to. The caller closes it.
    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, settings: BotSettings, report: RunReport, logger: Logger
    ) {
        self.init(
            gateway: gateway, ruleSet: ruleSet, state: .opened(ledger), settings: settings, report: report,
            logger: logger)
    }

    /// Returns at the end of a one-shot run, or after a graceful shutdown.
    ///
    /// - Throws: ``RunError`` or ``StateError``.
    package func run() async throws {
        var state: RunState?
        defer { state?.close() }
        do {
            var wasThere = false
            while true {
                let beginning = try await cancelWhenGracefulShutdown { [state, wasThere] in
                    try await begin(state, wasThere: wasThere)
                }
                state = beginning.state
                do { return try await follow(beginning, wasThere: wasThere) } catch let reset as DatabaseReset {
                    state = try await startOver(reset, beginning.state)
                }
                wasThere = true
            }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    private struct Beginning {
        let info: DatabaseInfo
        let start: SequenceID
        let state: RunState
        let watch: DatabaseWatch

        var ledger: Ledger { state.ledger }
    }

    /// Once the gateway answers, finds out which database it is, opens its state and decides where to start.
    ///
    /// - Parameters:
    ///   - held: The state, if this run has opened it already. A state that is opened here is closed on failure.
    ///   - wasThere: Whether this run has read from the database before: a daemon then waits for it to come back.
    private func begin(_ held: RunState?, wasThere: Bool) async throws -> Beginning {
        let info = try await contact.make(wasThere: wasThere)
        try gateway.check(channels: settings.channels)
        var state: RunState
        if let held { state = held } else { state = try await keeper.open() }
        do {
            while true {
                let watch = watch(state.ledger)
                switch try await contact.ask(watch.look) {
                case .same(let mark):
                    try await keeper.confirm(state, watch)
                    return try await beginning(info, state, watch, copy: mark)
                case .reset(let reset):
                    let next = try await startOver(reset, state)
                    if settings.delivery.preview != nil {
                        return Beginning(info: info, start: .start, state: state, watch: watch)
                    }
                    // The new database gets its mark.
                    if let next { state = next } else { state = try await keeper.open() }
                case .unknowable(let reason):
                    logger.notice(
                        "a reset of the database can't be detected: this user may not write local documents",
                        metadata: ["reason": "\(reason)"])
                    return try await beginning(info, state, watch, copy: nil)
                }
            }
        } catch {
            if state.ledger !== held?.ledger { state.close() }
            throw error
        }
    }

    private func watch(_ ledger: Ledger) -> DatabaseWatch {
        DatabaseWatch(
            marks: keeper.marks, ledger: ledger, channels: settings.channels?.sorted(),
            isReadOnly: settings.delivery.preview != nil, logger: logger, checkInterval: settings.checkInterval)
    }

    private func beginning(
        _ info: DatabaseInfo, _ state: RunState, _ watch: DatabaseWatch, copy: DatabaseMark?
    ) async throws -> Beginning {
        let facts = StartFacts(
            checkpoint: try state.ledger.checkpoint(), isCheckpointReset: try state.ledger.isCheckpointReset(),
            since: settings.since, copy: copy, ruleSetHash: ruleSet.hash, channels: watch.channels)
        var info = info
        if facts.needsNewest, !info.reportsNewest { info = try await contact.make(needsNewest: true, wasThere: true) }
        let start = facts.start(newest: info.updateSequence)
        start.log(to: logger, stateOptions: settings.delivery.stateOptions)
        return Beginning(info: info, start: start.sequence, state: state, watch: watch)
    }

    /// Forgets the database that was reset.
    ///
    /// - Returns: The state to continue with; nil if it must be looked up.
    private func startOver(_ reset: DatabaseReset, _ state: RunState) async throws -> RunState? {
        guard settings.onReset == .restart else {
            throw RunError(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning, run with --on-reset restart")
        }
        logger.warning("starting over from the beginning", metadata: ["reason": "\(reset.reason)"])
        return try await keeper.renew(reset, state) { identity in
            try await state.ledger.startOver(identity: identity, at: .start, reason: reset.reason)
        }
    }

    /// - Throws: Also ``DatabaseReset``.
    private func follow(_ beginning: Beginning, wasThere: Bool) async throws {
        var delivering = settings.delivery
        delivering.pauses = .endedByGracefulShutdown
        delivering.effectLimits = settings.effectLimits
        delivering.decidesPuts = settings.isOneShot
        let delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: beginning.ledger, start: beginning.start,
            counters: await report.deliveredSoFar(), settings: delivering, logger: logger)
        await report.watch(delivery.progress)
        logger.info(
            "following the feed", metadata: ["since": "\(beginning.start)", "rules": "\(ruleSet.count)"])
        try await delivery.run { try await read(beginning, into: delivery, wasThere: wasThere) }
        await copyCheckpoint(beginning.watch)
    }

    /// The run is ending: a gateway in trouble must not delay it.
    private func copyCheckpoint(_ watch: DatabaseWatch) async {
        do { try await watch.copyCheckpoint() } catch {
            logger.debug("the checkpoint can't be copied into the database", metadata: ["reason": "\(error)"])
        }
    }

    /// Returns at the end of a one-shot run, and when a graceful shutdown begins.
    private func read(_ beginning: Beginning, into delivery: Delivery, wasThere: Bool) async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await withThrowingTaskGroup { group in
                    group.addTask { try await readFeed(beginning, into: delivery, wasThere: wasThere) }
                    if settings.delivery.preview == nil { group.addTask { try await beginning.watch.run() } }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError where !Task.isCancelled {
            logger.info("stopping: finishing the work under way")
        }
    }

    private func readFeed(_ beginning: Beginning, into delivery: Delivery, wasThere: Bool) async throws {
        let progress = delivery.progress
        var reader = FeedReader(
            gateway: gateway, end: settings.isOneShot ? .caughtUp(with: beginning.info.newestSequence) : .never,
            retries: settings.delivery.retries, logger: logger,
            noteRetry: { await progress.count { $0.retries += 1 } })
        reader.following = settings.following
        reader.channels = settings.channels
        reader.knowsKeyspace = wasThere
        let intake = delivery.makeIntake()
        try await reader.read(from: beginning.start) { rows, reached in
            try await intake.take(rows, reached: reached)
        }
    }
}
