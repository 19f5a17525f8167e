package import GatewayClient
package import Logging
package import Pipeline
package import Rules
internal import ServiceLifecycle

/// `changebot run`: follows the feed of one keyspace and does what the rules say.
///
/// On graceful shutdown it stops reading, answers for what it has taken in, saves the checkpoint and returns; what waits
/// for another attempt is left for the next run. When cancelled it drops what is under way; the checkpoint is where
/// everything before it is finished.
package struct Bot: Service {
    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let ledger: Ledger
    private let settings: BotSettings
    private let logger: Logger
    private let report: RunReport
    private let watch: DatabaseWatch

    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, settings: BotSettings, report: RunReport, logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.settings = settings
        self.report = report
        self.logger = logger
        watch = DatabaseWatch(
            gateway: gateway, ledger: ledger, name: settings.name, channels: settings.channels?.sorted(),
            isReadOnly: settings.delivery.preview != nil,
            logger: logger, lookInterval: settings.lookInterval)
    }

    /// - Throws: ``RunFailure`` or ``StateError``. Returns after the end of a one-shot run or a graceful shutdown.
    package func run() async throws {
        do {
            var wasThere = false
            while true {
                let beginning = try await cancelWhenGracefulShutdown { [wasThere] in
                    try await begin(wasThere: wasThere)
                }
                do { return try await follow(beginning, wasThere: wasThere) } catch let reset as DatabaseReset {
                    try await beginAnew(reset)
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
    }

    /// Finds out where to start, once the gateway answers.
    ///
    /// - Parameter wasThere: This run has read from the database before: a daemon waits until it is there again.
    private func begin(wasThere: Bool) async throws -> Beginning {
        let contact = FirstContact(
            gateway: gateway, patience: settings.delivery.patience, report: report, logger: logger)
        let isResuming = try ledger.checkpoint() != nil
        let info = try await contact.make(
            needsNewest: settings.since == .now && !isResuming, wasThere: wasThere)
        guard settings.channels == nil || gateway.dialect == .syncGateway else {
            throw RunFailure(.badConfiguration, "--channels: \(gateway.url) is no Sync Gateway and has no channels")
        }
        switch try await contact.ask(watch.look) {
        case .same(let mark):
            return Beginning(info: info, start: try startSequence(info, copy: mark))
        case .reset(let reset):
            try await beginAnew(reset)
            if settings.delivery.preview != nil { return Beginning(info: info, start: .start) }
            // The new database gets its mark.
            return try await begin(wasThere: wasThere)
        case .unknowable(let reason):
            logger.notice(
                "a reset of the database can't be noticed: this user may not keep local documents",
                metadata: ["reason": "\(reason)"])
            return Beginning(info: info, start: try startSequence(info, copy: nil))
        }
    }

    /// Forgets the database that was.
    private func beginAnew(_ reset: DatabaseReset) async throws {
        guard settings.onReset == .restart else {
            throw RunFailure(
                .databaseReset,
                "\(reset.reason); to handle its documents from the beginning, run with --on-reset restart")
        }
        logger.warning("starting again at the beginning", metadata: ["reason": "\(reset.reason)"])
        try await ledger.beginAnew(identity: reset.mark?.identity, at: .start, reason: reset.reason)
        CrashPoint.stateForgotten.pass()
    }

    /// The checkpoint; else what was asked for; else the copy of a checkpoint of the same rules; else the beginning.
    private func startSequence(_ info: DatabaseInfo, copy: DatabaseMark?) throws -> SequenceID {
        if let checkpoint = try ledger.checkpoint() {
            if settings.since != nil {
                logger.notice(
                    "ignoring --since: there is a checkpoint; 'changebot checkpoint set' moves it",
                    metadata: ["checkpoint": "\(checkpoint.sequence)"])
            }
            if let copy, copy.checkpoint != nil, copy.channels != settings.channels?.sorted() {
                logger.warning(
                    "the channels have changed since the checkpoint: what is older than it is not looked at; 'changebot checkpoint reset' starts over"
                )
            }
            if checkpoint.ruleSetHash != ruleSet.hash {
                logger.notice("the rules have changed since the checkpoint; they hold from here on")
            }
            return checkpoint.sequence
        }
        switch settings.since {
        case .beginning: return .start
        case .sequence(let sequence): return sequence
        case .now: return info.updateSequence ?? .start
        case nil: return try copied(copy) ?? .start
        }
    }

    private func copied(_ mark: DatabaseMark?) throws -> SequenceID? {
        guard let mark, let sequence = mark.checkpoint, !(try ledger.isCheckpointReset()) else { return nil }
        guard mark.ruleSetHash == ruleSet.hash, mark.channels == settings.channels?.sorted() else {
            logger.notice("the database holds a checkpoint of other rules or channels: starting at the beginning")
            return nil
        }
        logger.notice(
            "there is no checkpoint here: going on at the copy in the database",
            metadata: ["checkpoint": "\(sequence)", "saved_at": "\(mark.savedAt)"])
        return sequence
    }

    /// - Throws: Also ``DatabaseReset``.
    private func follow(_ beginning: Beginning, wasThere: Bool) async throws {
        var delivering = settings.delivery
        delivering.pauses = .endedByGracefulShutdown
        delivering.effectLimits = settings.effectLimits
        delivering.decidesPuts = settings.isOneShot
        let delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: beginning.start,
            counters: await report.deliveredSoFar(), settings: delivering, logger: logger)
        await report.watch(delivery.progress)
        logger.info(
            "following the feed", metadata: ["since": "\(beginning.start)", "rules": "\(ruleSet.count)"])
        try await delivery.run { try await read(beginning, into: delivery, wasThere: wasThere) }
        await copyCheckpoint()
    }

    /// The run is at its end: a gateway in trouble must not hold it.
    private func copyCheckpoint() async {
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
                    if settings.delivery.preview == nil { group.addTask { try await watch.run() } }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError where !Task.isCancelled {
            logger.info("stopping: finishing what is under way")
        }
    }

    private func readFeed(_ beginning: Beginning, into delivery: Delivery, wasThere: Bool) async throws {
        let progress = delivery.progress
        var reader = FeedReader(
            gateway: gateway, end: settings.isOneShot ? .caughtUp(with: beginning.info.newestSequence) : .never,
            patience: settings.delivery.patience, logger: logger,
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
