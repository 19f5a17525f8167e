internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Rules

/// Carries out orders to apply rules to all documents, while the run reads the feed. It works on each in turns of a minute,
/// so that other passes need not wait for long.
///
/// If the process is killed, the next one continues after the last finished document that the state knows.
struct BackfillTask: BackgroundTask {
    private static let turn: Duration = .seconds(60)
    /// How long it waits after a failure.
    private static let retryWait: Duration = .seconds(60)

    let delivery: Delivery
    let gateway: Gateway
    let runner: PassRunner
    /// The names of the rules of the bot.
    let rules: [String]
    /// Those of them that do not fire at present: their backfills wait.
    let paused: Set<String>
    let isOneShot: Bool
    /// Raised when there may be an order.
    let woken: Signal
    private var notBefore: [Int: ContinuousClock.Instant] = [:]

    init(
        _ runner: PassRunner, _ delivery: Delivery, _ gateway: Gateway, rules: [String], paused: Set<String>,
        isOneShot: Bool, woken: Signal
    ) {
        (self.runner, self.delivery, self.gateway) = (runner, delivery, gateway)
        (self.rules, self.paused) = (rules, paused)
        (self.isOneShot, self.woken) = (isOneShot, woken)
    }

    private var ledger: Ledger { delivery.ledger }

    mutating func runOnce(_ phase: BackgroundTaskPhase, _ enqueuer: any CandidateEnqueuer) async throws
        -> BackgroundTaskResult
    {
        guard phase == .readingFeed else { return BackgroundTaskResult() }
        var open: [Backfill]
        repeat {
            open = try await openBackfills()
            for backfill in open where notBefore[backfill.order] ?? .now <= .now {
                guard try await work(on: backfill) else { return BackgroundTaskResult() }
            }
        } while isOneShot && !open.isEmpty
        guard !open.isEmpty else { return BackgroundTaskResult() }
        let next = open.map { notBefore[$0.order] ?? .now }.min()
        return BackgroundTaskResult(next: next)
    }

    /// The oldest order first.
    private func openBackfills() async throws(StateError) -> [Backfill] {
        try await ledger.onSeparateThread { ledger throws(StateError) in try ledger.backfills() }
            .filter { $0.isOpen && !paused.contains($0.rule) }.sorted { $0.order < $1.order }
    }

    /// Works on a backfill for a while.
    ///
    /// - Returns: False if the run was stopped.
    private mutating func work(on backfill: Backfill) async throws -> Bool {
        let metadata: Logger.Metadata = [LogKey.rules: "\(backfill.rule)"]
        guard rules.contains(backfill.rule) else {
            return try await end(backfill, problem: "the bot has no such rule", metadata)
        }
        let filter: DocumentFilter?
        do throws(RuleFilesError) {
            filter =
                if let selector = backfill.selector { try DocumentFilter(selector, name: "--selector") } else { nil }
        } catch {
            return try await end(backfill, problem: "\(error)", metadata)
        }
        if backfill.begunAt == nil { delivery.logger.notice("beginning a backfill", metadata: metadata) }
        if backfill.expected == nil {
            try await ledger.noteBegun(backfill, expected: try? await gateway.databaseInfo().documentCount)
        }
        let part = BackfillPart(backfill, until: .now + Self.turn) { [ledger] last, counts in
            try await ledger.note(backfill, upTo: last, counts)
        }
        let pass = PassRunner.Pass.backfill(part, filter, delivery)
        let end = try await runner.run(pass, orderedIn: ledger) { ledger throws(StateError) in
            try ledger.backfills().contains { $0.order == backfill.order && $0.isOpen }
        }
        switch end {
        case .completed where part.hasAllDocuments: return try await self.end(backfill, problem: nil, metadata)
        case .completed: return true
        case .cancelled:
            delivery.logger.notice("a backfill was cancelled", metadata: metadata)
            return true
        case .failed:
            notBefore[backfill.order] = .now + Self.retryWait
            return !Task.isAskedToStop
        }
    }

    private func end(_ backfill: Backfill, problem: String?, _ metadata: Logger.Metadata) async throws -> Bool {
        try await ledger.noteEnded(backfill, problem: problem)
        guard let problem else {
            delivery.logger.notice("a backfill is done", metadata: metadata)
            return true
        }
        delivery.logger.warning(
            "a backfill has ended early", metadata: metadata.merging([LogKey.reason: "\(problem)"]) { $1 })
        return true
    }
}
