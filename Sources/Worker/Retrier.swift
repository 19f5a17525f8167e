package import GatewayClient
package import Logging
package import Pipeline
package import Rules
internal import ServiceLifecycle

/// `changebot dead-letters retry`: the rules over documents that were set aside, as they are now.
///
/// Works beside a run of the same name: what it writes is remembered in the same state, so the run does not decide it
/// again. (It may see a write before that is on disk; it then finds the document as the rules want it.) A letter goes when its document is written, or needs nothing any more; it stays, with the new reason, if that
/// fails again. Killed at any instant, it loses no letter whose document is not done with.
package struct Retrier: Service {
    /// Documents that are asked for at once.
    private static let batchSize = 100

    private let gateway: Gateway
    private let ruleSet: RuleSet
    private let ledger: Ledger
    private let letters: [Int]?
    private let settings: Delivery.Settings
    private let report: RunReport
    private let logger: Logger

    /// - Parameter letters: Their numbers. Nil: all that are there at the start.
    package init(
        gateway: Gateway, ruleSet: RuleSet, ledger: Ledger, letters: [Int]?, settings: Delivery.Settings,
        report: RunReport, logger: Logger
    ) {
        self.gateway = gateway
        self.ruleSet = ruleSet
        self.ledger = ledger
        self.letters = letters
        self.settings = settings
        self.report = report
        self.logger = logger
    }

    /// - Throws: ``RunFailure`` or ``StateError``. Returns when all letters were tried or after a graceful shutdown.
    package func run() async throws {
        do {
            let contact = FirstContact(
                gateway: gateway, patience: settings.patience, report: report, logger: logger)
            _ = try await cancelWhenGracefulShutdown { try await contact.make() }
            var settings = settings
            settings.pauses = .endedByGracefulShutdown
            settings.decidesPuts = true
            let delivery = try await Delivery(
                gateway: gateway, ruleSet: ruleSet, ledger: ledger, settings: settings, logger: logger)
            await report.watch(delivery.progress, hasSequence: false)
            try await delivery.run { try await read(into: delivery) }
        } catch is CancellationError {
            // Asked to stop.
        }
    }

    private func read(into delivery: Delivery) async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await readDocuments(into: delivery)
            }
        } catch is CancellationError where !Task.isCancelled {
            logger.info("stopping: finishing what is under way")
        }
    }

    private func readDocuments(into delivery: Delivery) async throws {
        let intake = delivery.makeIntake()
        var reader = CurrentDocuments(
            gateway: gateway, decider: ruleSet.makeDecider(), progress: delivery.progress, settings: settings,
            logger: logger)
        if let letters {
            let documents = try ledger.setAsideDocuments(letters)
            for start in stride(from: 0, to: documents.count, by: Self.batchSize) {
                let end = min(start + Self.batchSize, documents.count)
                try await reader.read(documents[start..<end], take: intake.take)
            }
            return
        }
        let last = try ledger.newestDeadLetter()
        var reached = 0
        while true {
            let documents = try ledger.setAsideDocuments(after: reached, upTo: last, limit: Self.batchSize)
            guard let next = documents.last?.letters.first else { return }
            reached = next
            try await reader.read(documents[...], take: intake.take)
        }
    }
}
