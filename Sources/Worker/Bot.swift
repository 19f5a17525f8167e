package import GatewayClient
package import Logging
package import Pipeline
package import Rules
internal import ServiceLifecycle

/// `changebot run`: follows the feed of one keyspace and does what the rules say.
///
/// On graceful shutdown it stops reading, answers for what it has taken in, saves the checkpoint and returns. When
/// cancelled it drops what is under way; the checkpoint is where everything before it is finished.
package struct Bot: Service {
    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let ledger: Ledger
    private let settings: BotSettings
    private let logger: Logger
    private let report: RunReport

    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, settings: BotSettings, report: RunReport, logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.settings = settings
        self.report = report
        self.logger = logger
    }

    /// - Throws: ``RunFailure`` or ``StateError``. Returns after the end of a one-shot run or a graceful shutdown.
    package func run() async throws {
        do {
            let checkpoint = try ledger.checkpoint()
            let info = try await cancelWhenGracefulShutdown { try await firstContact(isResuming: checkpoint != nil) }
            let start = startSequence(checkpoint, info)
            try await follow(from: start, info: info)
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    /// Finds out whether there is a gateway, whether it lets this user in, and what it is.
    private func firstContact(isResuming: Bool) async throws -> DatabaseInfo {
        var patience = Patience(settings.delivery.patience)
        while true {
            do throws(GatewayError) {
                let info = try await gateway.databaseInfo()
                let needsNewest = settings.since == .now && !isResuming
                if needsNewest, !(info.isOnline && info.updateSequence != nil) {
                    throw GatewayError(
                        .unavailable, "\(gateway.url) does not tell its newest sequence while it is not online")
                }
                logger.info(
                    "connected",
                    metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
                return info
            } catch {
                if error.code == .cancelled { throw CancellationError() }
                switch patience.verdict(on: error) {
                case .end(let failure): throw failure
                case .retry(let delay):
                    // What is no gateway is told of once, at the end.
                    logger.log(
                        level: error.code == .malformedAnswer ? .debug : .warning,
                        "no proper answer from the gateway yet",
                        metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
                    await report.noteContactRetry()
                    try await Task.sleep(for: delay)
                }
            }
        }
    }

    private func startSequence(
        _ checkpoint: (sequence: SequenceID, ruleSetHash: String)?, _ info: DatabaseInfo
    ) -> SequenceID {
        if let checkpoint {
            if settings.since != nil {
                logger.notice(
                    "ignoring --since: there is a checkpoint; use another --name to start elsewhere",
                    metadata: ["checkpoint": "\(checkpoint.sequence)"])
            }
            if checkpoint.ruleSetHash != ruleSet.hash {
                logger.notice("the rules have changed since the checkpoint; they hold from here on")
            }
            return checkpoint.sequence
        }
        switch settings.since {
        case nil, .beginning: return .start
        case .sequence(let sequence): return sequence
        case .now: return info.updateSequence ?? .start
        }
    }

    /// Feed, writers and checkpoints side by side, until the feed ends and its work is done.
    private func follow(from start: SequenceID, info: DatabaseInfo) async throws {
        let delivery = Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: start, settings: settings.delivery,
            logger: logger)
        await report.watch(delivery.progress)
        logger.info("following the feed", metadata: ["since": "\(start)", "rules": "\(ruleSet.count)"])
        do {
            try await withThrowingTaskGroup(of: Stage.self) { group in
                group.addTask {
                    try await delivery.keepCheckpoint()
                    return .checkpoint
                }
                group.addTask {
                    try await delivery.write()
                    return .writing
                }
                group.addTask {
                    try await read(from: start, info: info, into: delivery)
                    await delivery.finish()
                    return .feed
                }
                do {
                    while let stage = try await group.next(), stage != .writing {}
                } catch {
                    await delivery.abandon()
                    throw error
                }
                await delivery.abandon()
                group.cancelAll()
            }
        } catch {
            // What is finished is finished, whatever went wrong beside it.
            try? await delivery.saveCheckpoint()
            throw error
        }
        try await delivery.saveCheckpoint()
    }

    private enum Stage { case feed, writing, checkpoint }

    /// Returns at the end of a one-shot run, and when a graceful shutdown begins.
    private func read(from start: SequenceID, info: DatabaseInfo, into delivery: Delivery) async throws {
        let progress = delivery.progress
        let reader = FeedReader(
            gateway: gateway, end: settings.isOneShot ? .caughtUp(with: info.newestSequence) : .never,
            patience: settings.delivery.patience, logger: logger,
            noteRetry: { await progress.count { $0.retries += 1 } })
        do {
            try await cancelWhenGracefulShutdown {
                let intake = delivery.makeIntake()
                try await reader.read(from: start) { rows, reached in
                    try await intake.take(rows, reached: reached)
                }
            }
        } catch is CancellationError where !Task.isCancelled {
            logger.info("stopping: finishing what is under way")
        }
    }
}
