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

    private func firstContact(isResuming: Bool) async throws -> DatabaseInfo {
        let contact = FirstContact(
            gateway: gateway, patience: settings.delivery.patience, report: report, logger: logger)
        return try await contact.make(needsNewest: settings.since == .now && !isResuming)
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

    private func follow(from start: SequenceID, info: DatabaseInfo) async throws {
        let delivery = try Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, start: start, settings: settings.delivery,
            logger: logger)
        await report.watch(delivery.progress)
        logger.info("following the feed", metadata: ["since": "\(start)", "rules": "\(ruleSet.count)"])
        try await delivery.run { try await read(from: start, info: info, into: delivery) }
    }

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
